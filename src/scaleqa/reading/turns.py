"""Taking turns: an item is shown, its answer is taken, the next one is shown."""

from dataclasses import dataclass

from scaleqa.backends.itemdir import Item, ItemDirectory
from scaleqa.errors import DataError
from scaleqa.judges.letter import letter_of
from scaleqa.judges.reply import answer_of, is_abstention
from scaleqa.prompts import ABSTAIN

# What a reader says who cannot tell.
NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a reader is shown.

    Attributes:
        item: The item; None if there is none.
        number: Its number, from 1.
        left: Items without an answer, this one included.
        finished: Whether no more items will come.
        context: What its prompt begins with, if that is to be shown now.
    """

    item: Item | None
    number: int
    left: int
    finished: bool
    context: str | None = None

    @property
    def text(self) -> str:
        """The prompt as far as it is to be shown."""
        return (self.context or "") + (self.item.prompt if self.item else "")


def next_item(directory: ItemDirectory, *, again: bool = False) -> Shown:
    """Returns the first item without an answer.

    Args:
        directory: The items.
        again: Whether a context that all items share is shown, although it has been before.
    """
    answered, items = directory.answered, directory.items
    open_items = [
        (number, item) for number, item in enumerate(items, 1) if item.custom_id not in answered
    ]
    number, item = open_items[0] if open_items else (len(items), None)
    first = item is not None and (again or not answered)
    return Shown(
        item=item,
        number=number,
        left=len(open_items),
        finished=directory.finished,
        context=directory.context if first else None,
    )


def take_answer(directory: ItemDirectory, text: str, number: int | None = None) -> None:
    """Keeps the answer to the item that was shown last.

    Args:
        directory: The items.
        text: The answer.
        number: The number of the item that is meant, if the reader says so.

    Raises:
        DataError: It is no answer to what is asked, or the item has one already.
    """
    shown = next_item(directory)
    last = directory.shown
    if last is None:
        raise DataError("nothing was shown yet; read the first item without --answer")
    if shown.item is None or last != shown.item.custom_id:
        raise DataError("the item that was shown last has an answer already; read the next one")
    if number not in (None, shown.number):
        raise DataError(f"item {number} is not the one to answer, which is item {shown.number}")
    directory.answer(shown.item, checked(shown.item, text))


def checked(item: Item, text: str) -> str:
    """Returns an answer that can be read as one.

    Raises:
        DataError: It cannot; the message says what is expected.
    """
    said = text.strip()
    if not said:
        raise DataError("the answer is empty; nothing was recorded")
    if item.letters is None:
        if answer_of(said) is None:
            raise DataError(f"{said[:80]!r} has no answer, or two; nothing was recorded")
        return said
    if letter_of(said, item.letters) or (answer_of(said) or "").casefold().strip(".") == NONE:
        return said
    offered = ABSTAIN in item.prompt
    if offered and is_abstention(said):
        return said
    # A letter in lower case is no answer of a model, but people write it.
    if len(said) == 1 and letter_of(said.upper(), item.letters):
        return said.upper()
    raise DataError(
        f"{said[:80]!r} names none of {', '.join(item.letters)}; expected one letter alone or "
        f"'ANSWER: LETTER' and 'RATIONALE: why' on two lines, or {NONE!r} if you cannot tell"
        + (f", or 'ANSWER: {ABSTAIN}'" if offered else "")
    )
