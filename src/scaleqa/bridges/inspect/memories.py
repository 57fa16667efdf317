"""Memory systems that have taken in threads, for questions that come in any order."""

import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack

from scaleqa.backends import ChatModel
from scaleqa.evaluate.feed import Fed, fed_system
from scaleqa.evaluate.loop import RunSettings, run_of
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Package
from scaleqa.systems import Retrieved, Tools, check_systems
from tsim.embed import Embedder


class Memories:
    """One system for each package; it takes in the thread when its first question is asked.

    Nothing is written back, so questions do not depend on each other or on their order.
    """

    def __init__(
        self, packages: Sequence[Package], system: str, embedder: Embedder, model: ChatModel | None
    ) -> None:
        """Checks that the system can be opened.

        Raises:
            DataError: It cannot.
        """
        check_systems([system], Tools(embedder=embedder, model=model))
        self.packages = {package.name: package for package in packages}
        self.system, self.embedder, self.model = system, embedder, model
        self._locks = {name: threading.Lock() for name in self.packages}
        self._fed: dict[str, Fed] = {}
        stack = self._open = ExitStack()
        weakref.finalize(self, stack.close)

    @property
    def name(self) -> str:
        """What logs of Inspect show."""
        return self.system

    def ask(self, package: str, place: int) -> tuple[Row, Retrieved]:
        """Asks the question at a place of a package; returns its row, and what was found."""
        with self._locks[package]:
            if package not in self._fed:
                whole = self.packages[package]
                settings = RunSettings(system=self.system, model=self.model)
                run = run_of(whole, settings, self.embedder, None)
                fed = fed_system(whole, run, self.embedder, model=self.model)
                self._fed[package] = self._open.enter_context(fed)
            return self._fed[package].ask(place, detail=False)
