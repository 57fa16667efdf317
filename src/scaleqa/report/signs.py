"""Letters that mark figures where something replaces what the paper used."""

from scaleqa.figures.groups import Setting
from scaleqa.pages.page import Notes
from scaleqa.report.words import StandIn, stand_ins


class Signs:
    """The notes of a setting: what replaces what, and the letters that say so."""

    def __init__(self, setting: Setting) -> None:
        """Finds the notes."""
        self.notes: list[StandIn] = stand_ins(setting)

    def of(self, *parts: str) -> str:
        """Letters of the notes about some parts."""
        return " ".join(note.sign for note in self.notes if note.part in parts)

    @property
    def both(self) -> str:
        """Letters of all notes, for what depends on answers and retrieval alike."""
        return self.of("reader", "embedder")

    @property
    def after(self) -> str:
        """The same for the end of a caption."""
        return f" ({self.both.replace(' ', ', ')})" if self.both else ""

    def below(self, *extra: str) -> tuple[Notes, ...]:
        """The line under a table or drawing, if there is anything to say."""
        notes = [f"{note.sign}: {note.short}" for note in self.notes]
        text = ". ".join([*extra, *notes])
        return (Notes(items=(f"{text}.",)),) if text else ()
