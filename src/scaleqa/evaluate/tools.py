"""What systems get to work with on a package; the registry keeps the truth for the controls."""

from scaleqa.backends import ChatModel
from scaleqa.packages import Package
from scaleqa.systems import Tools
from tsim.embed import Embedder


def tools_for(package: Package, embedder: Embedder, model: ChatModel | None) -> Tools:
    """Gathers the tools for one package."""
    return Tools(
        embedder=embedder,
        model=model,
        truth={query.id: query.evidence for query in package.queries},
        dialogues=package.dialogues,
    )
