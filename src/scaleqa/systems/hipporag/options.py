"""What can be set of HippoRAG."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class HippoRagOptions:
    """How passages are cut, joined, walked and shown."""

    chunk: Annotated[
        int, Field(ge=0, description="Tokens at which a passage ends; 0: each turn is one.")
    ] = 128
    k: Annotated[int, Field(ge=1, description="Passages shown.")] = 5
    budget: Annotated[
        int, Field(ge=0, description="Tokens of the context; a passage too long is left out.")
    ] = 1200
    synonymy: Annotated[
        float, Field(ge=0, description="Cosine from which two phrases are joined; above 1: none.")
    ] = 0.8
    damping: Annotated[
        float, Field(ge=0, lt=1, description="Chance to walk on rather than to start again.")
    ] = 0.5
