"""HippoRAG: a graph of phrases from open information extraction, walked from the question's.

After Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language
Models" (2024), on a flat stream of turns.
"""

from collections.abc import Mapping

from scaleqa.errors import DataError
from scaleqa.systems.protocol import System, Tools
from scaleqa.systems.registry import take


def make(options: Mapping[str, str], tools: Tools) -> System:
    """Opens the system; options: chunk, k, cap, synonymy, damping.

    Raises:
        DataError: An option is wrong, or what the system needs is not installed.
    """
    values = take(options, chunk=128, k=5, cap=1200, synonymy=0.8, damping=0.5)
    if not 0 <= float(values["damping"]) < 1:
        raise DataError(f"option damping={values['damping']} should be at least 0 and below 1")
    try:
        from scaleqa.systems.hipporag.graph import Graph
        from scaleqa.systems.hipporag.system import HippoRag, open_reader
    except ImportError as error:
        raise DataError(f"hipporag needs {error.name}: pip install 'scaleqa[rivals]'") from error
    graph = Graph(
        tools.embedder, synonymy=float(values["synonymy"]), damping=float(values["damping"])
    )
    return HippoRag(
        open_reader(tools.model),
        graph,
        tools.embedder,
        chunk=int(values["chunk"]),
        k=int(values["k"]),
        cap=int(values["cap"]),
    )
