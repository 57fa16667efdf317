"""Recipes: how everything that a run needs is opened, the same in every process."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from scaleqa.backends import Access, ChatModel, Pace, Stop, open_backend, open_chat, read_price
from scaleqa.evaluate import Reading, RunSettings
from scaleqa.evaluate.rows import Stored
from scaleqa.prompts import template
from tsim.embed import Embedder, open_embedder


class Recipe(Stored):
    """What a run is made with, as users write it; API keys stay in the environment."""

    model: str | None = None
    """Embedding model."""
    assist: str | None = None
    """Chat model for systems that use one."""
    backend: str | None = None
    """What answers; None for retrieval alone."""
    prompt: str | None = None
    writeback: bool = True
    judge: str | None = None
    price: str | None = None
    cached: bool = True
    """Whether replies are cached."""
    rpm: float | None = None
    """Most requests per minute, of all workers together."""
    key_env: str | None = None
    detail: bool = True

    @property
    def in_order(self) -> bool:
        """Whether a question depends on those before it: their answers are written back."""
        return self.backend is not None and self.writeback


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a recipe opens.

    Attributes:
        recipe: The recipe.
        embedder: For systems, and to compare rationales.
        reading: How questions are answered; None for retrieval alone.
        helper: A chat model for systems.
    """

    recipe: Recipe
    embedder: Embedder
    reading: Reading | None
    helper: ChatModel | None

    def settings(self, system: str) -> RunSettings:
        """Says how a run of a system goes."""
        return RunSettings(
            system=system, reading=self.reading, model=self.helper, detail=self.recipe.detail
        )


@contextmanager
def opened(
    recipe: Recipe, stop: Stop, *, pace: Pace | None = None, threads: int | None = None
) -> Iterator[Opened]:
    """Opens what a recipe names.

    Args:
        recipe: The recipe.
        stop: Ends waiting and asking.
        pace: Limits the requests of all workers.
        threads: Threads of the embedder; None for all cores.

    Raises:
        DataError: There is no such backend or prompt, or the price is none.
    """
    access = Access(key_variable=recipe.key_env, limiter=pace, cached=recipe.cached, stop=stop)
    with ExitStack() as stack:

        def chat(spec: str | None) -> ChatModel | None:
            return stack.enter_context(closing(open_chat(spec, access))) if spec else None

        reading = None
        helper = chat(recipe.assist)
        if recipe.backend is not None:
            reading = Reading(
                judge_model=chat(recipe.judge),
                backend=stack.enter_context(closing(open_backend(recipe.backend, access))),
                template=template(recipe.prompt or ""),
                writeback=recipe.writeback,
                price=read_price(recipe.price) if recipe.price else None,
            )
        embedder = open_embedder(recipe.model, cached=True, threads=threads)
        yield Opened(recipe=recipe, embedder=embedder, reading=reading, helper=helper)
