"""An adapter without a product: the turns, or notes of them, that share most words with a query."""

from collections.abc import Sequence

from .serving import Found, Given, Turn

NOTE = "Write down in one short sentence what is said here. Write the sentence alone.\n\n"
MOST_TOKENS = 60


class Words:
    """Counts common words; later turns win ties."""

    def __init__(self) -> None:
        """Starts empty."""
        self._turns: list[tuple[int, set[str]]] = []

    def add(self, turns: Sequence[Turn]) -> None:
        """Keeps the words of turns."""
        self._turns += [(turn.id, {*turn.text.lower().split()}) for turn in turns]

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds the turns with most words of the query."""
        wanted = {*query.lower().split()}
        found = [Found(turn, len(wanted & words)) for turn, words in self._turns]
        return sorted(found, key=lambda one: (-(one.score or 0), -(one.turn or 0)))[:limit]


class Notes(Words):
    """Keeps what a language model notes of each turn, and finds the notes."""

    def __init__(self, given: Given) -> None:
        """Starts empty."""
        super().__init__()
        self._model = given.model
        self._notes: dict[int, str] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        """Notes turns, with one call each."""
        noted = [turn._replace(text=self._note(turn)) for turn in turns]
        self._notes |= {turn.id: turn.text for turn in noted}
        super().add(noted)

    def search(self, query: str, limit: int) -> list[Found]:
        """Finds notes."""
        found = super().search(query, limit)
        return [Found(None, one.score, self._notes[one.turn or 0]) for one in found]

    def _note(self, turn: Turn) -> str:
        asked = {"role": "user", "content": f"{NOTE}{turn.role}: {turn.text}"}
        return self._model.chat([asked], MOST_TOKENS).text


def open_memory(given: Given) -> Words:
    """Opens an empty memory."""
    return Notes(given) if given.mode == "notes" else Words()
