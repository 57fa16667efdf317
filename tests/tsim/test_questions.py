"""Questions that ask for several things."""

import pytest

from tsim import LATE, OFFICIAL, Memory
from tsim.engine.late import engine
from tsim.rank import parts

SAID = """\
The tram was late again this morning, so I walked.
Good for the legs, at least.
I bought the saw at Hendriks in Delft, second hand.
A bargain, I hope.
Dinner is lentils tonight.
With lemon?
The cat sleeps on the printer.
It is warm there.
My dentist is called Ms Okafor, she is gentle.
Lucky you.
The bulb in the hall is broken.
I have a spare one.
We paint the fence in May.
Green again?
The choir sings on Friday.
What do you sing?
Rain all week.
The saw needs a new blade soon, it is blunt.
Then sharpen it.
My saw hangs in the shed next to the ladder.
Good place for it."""
SAW, DENTIST = 2, 8
QUESTION = "Where did I buy my saw, and what is the name of my dentist?"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        (QUESTION, ["Where did I buy my saw", "what is the name of my dentist?"]),
        ("Where is it kept? And what did it cost?", ["Where is it kept", "what did it cost?"]),
        (
            "In which city did we meet, and with whom did I travel?",
            ["In which city did we meet", "with whom did I travel?"],
        ),
        ("Where does my sister live?", []),
        ("What is bread and butter pudding made of?", []),
        ("What did she say and when?", []),
        ("Who am I and what is " + "a very long text " * 40, []),
        ("Wo wohnt sie, und was kostet das?", []),
        ("", []),
    ],
)
def test_a_question_is_divided_where_it_asks_for_something_else(question, found):
    assert parts(question) == found


def test_both_answers_are_found_in_few_tokens(minilm, tmp_path, monkeypatch):
    with Memory.open(tmp_path / "memory.db", model=minilm) as memory:
        thread = memory.thread("a")
        for number, text in enumerate(SAID.splitlines()):
            thread.add("model" if number % 2 else "user", text)

        def shown() -> set[int]:
            hits = thread.search(QUESTION, budget=50)
            return {turn.id for hit in hits for turn in hit.turns}

        assert {SAW, DENTIST} <= shown()
        monkeypatch.setattr(engine, "parts", lambda text: [])
        assert DENTIST not in shown()


def test_only_a_method_that_asks_for_parts_embeds_them():
    assert LATE.settings.asked(QUESTION) == [QUESTION, *parts(QUESTION)]
    assert OFFICIAL.settings.asked(QUESTION) == [QUESTION]
