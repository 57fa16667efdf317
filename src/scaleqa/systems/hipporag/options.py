"""The options of HippoRAG."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRagOptions:
    """Passages, graph, PageRank and size of the context."""

    chunk: Annotated[
        int, Field(ge=0, description="Tokens at which a passage ends; 0: each turn is one.")
    ] = 128
    k: Annotated[int, Field(ge=1, description="Passages shown.")] = 5
    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; passages that do not fit are skipped.")
    ] = 1200
    synonymy: Annotated[
        float, Field(ge=0, description="Cosine from which phrases are connected; above 1: never.")
    ] = 0.8
    damping: Annotated[
        float, Field(ge=0, lt=1, description="Probability of continuing instead of restarting.")
    ] = 0.5
