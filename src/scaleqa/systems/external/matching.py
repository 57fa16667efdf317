"""Turns in texts: which turns a text contains whole."""

from collections.abc import Container, Iterable

from scaleqa.packages import StreamTurn


class Matcher:
    """Finds turns in the texts of programs that return no ids.

    Texts are compared word by word, whatever the white space between. From left to right, the
    longest turn that begins at a word is taken, and the search goes on behind it: a short turn
    inside of a longer one does not count. Of turns with the same words, each occurrence is one, the
    earliest first.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self._said: dict[tuple[str, ...], list[int]] = {}
        # The lengths of the turns that begin with a word, longest first.
        self._lengths: dict[str, list[int]] = {}

    def add(self, turns: Iterable[StreamTurn]) -> None:
        """Adds turns."""
        for turn in turns:
            words = tuple(turn.text.split())
            if not words:
                continue
            self._said.setdefault(words, []).append(turn.id)
            lengths = {*self._lengths.get(words[0], ()), len(words)}
            self._lengths[words[0]] = sorted(lengths, reverse=True)

    def find(self, text: str, taken: Container[int] = ()) -> list[int]:
        """Returns the turns that a text contains whole, in order.

        Args:
            text: The text.
            taken: Turns that other texts contain: of turns with the same words, another is found.
        """
        words = text.split()
        found: dict[int, None] = {}
        place = 0
        while place < len(words):
            for length in self._lengths.get(words[place], ()):
                same = self._said.get(tuple(words[place : place + length]))
                if same:
                    free = (turn for turn in same if turn not in found)
                    found.update(
                        dict.fromkeys([next((t for t in free if t not in taken), same[0])])
                    )
                    place += length
                    break
            else:
                place += 1
        return [*found]
