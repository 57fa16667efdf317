"""HippoRAG: personalised PageRank over a graph of extracted phrases.

Based on Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language
Models" (2024), on a flat stream of turns.
"""

from scaleqa.errors import DataError
from scaleqa.systems.declaration import Budget, SystemDeclaration
from scaleqa.systems.hipporag.options import HippoRagOptions
from scaleqa.systems.protocol import System, Tools


def _make(options: HippoRagOptions, tools: Tools) -> System:
    """Imports optional dependencies only when they are needed."""
    try:
        from scaleqa.systems.hipporag.graph import Graph
        from scaleqa.systems.hipporag.system import HippoRag, open_reader
    except ImportError as error:
        raise DataError(f"hipporag needs {error.name}: pip install 'scaleqa[rivals]'") from error
    graph = Graph(tools.embedder, synonymy=options.synonymy, damping=options.damping)
    return HippoRag(options, open_reader(tools.model), graph, tools.embedder)


SYSTEM = SystemDeclaration(
    name="hipporag",
    summary="PageRank on a graph of phrases, from those of the question.",
    options=HippoRagOptions,
    make=_make,
    budget=Budget(),
    order=7,
    colour="#44aa99",
    without_model="spaCy's parses give hipporag its triples",
)
