"""Evidence that is a part of a turn: what counts as found, and what is refused."""

from dataclasses import replace

import pytest

from scaleqa.errors import DataError
from scaleqa.evaluate.feed import Fed
from scaleqa.evaluate.meter import Metered
from scaleqa.evaluate.rows import Run
from scaleqa.packages import Block, Package, Question, StreamTurn, check_packages
from scaleqa.packages.package import described
from scaleqa.systems import Asked, Retrieved, Tools, Unit, open_system

LONG = "The boiler is new. " * 3 + "The key is under the blue pot. " + "It rains a lot here. " * 3
ASKED = Question(
    id="q",
    question="Where is the key?",
    answer="Under the blue pot.",
    evidence=(1,),
    quotes=("The key is under the blue pot.",),
    grader="judge",
)
PACKAGE = Package(
    name="house",
    stream=(
        StreamTurn(id=0, role="user", text="We leave on Friday."),
        StreamTurn(id=1, role="user", text=LONG),
        StreamTurn(id=2, role="model", text="Noted."),
    ),
    questions=(ASKED,),
    truth=(Block(source="house", turns=(0, 1, 2)),),
    noise=(),
    settings={},
)


class Fixed:
    """Returns the same whatever is asked."""

    def __init__(self, found):
        self.found = found

    def retrieve(self, asked):
        return self.found

    def views(self, asked):
        return {}

    def account(self):
        return open_system("zero_shot", Tools(embedder=None)).account()


def row(tiny_embedder, package=PACKAGE, *, whole=(), parts=None):
    found = Retrieved(
        units=(Unit(turns=(*whole, *(parts or {})), score=1.0),),
        context="…",
        shown=frozenset(whole),
        parts=parts or {},
    )
    run = Run(package="house", package_sha256="", system="fixed", model="tiny")
    fed = Fed(
        package=package,
        run=run,
        system=Fixed(found),
        embedder=Metered(tiny_embedder),
        model=None,
        cold=False,
    )
    return fed.ask(0, detail=True)[0]


@pytest.mark.parametrize(
    ("shown", "hit", "partly"),
    [
        ({"whole": (1,)}, True, True),
        ({"parts": {1: ("new. The key is under the blue pot.",)}}, True, True),
        ({"parts": {1: ("The key is under", "the blue pot.")}}, False, True),
        ({"parts": {1: ("It rains a lot here.",)}}, False, True),
        ({"parts": {2: ("The key is under the blue pot.",)}}, False, False),
        ({"whole": (0, 2)}, False, False),
    ],
)
def test_a_turn_counts_as_found_if_what_is_marked_in_it_is_shown(tiny_embedder, shown, hit, partly):
    found = row(tiny_embedder, **shown)
    assert (found.hit, found.partly) == (hit, partly)
    assert found.evidence_shown == hit
    assert (1 in found.detail.shown) == hit


def test_without_a_mark_the_whole_turn_counts(tiny_embedder):
    unmarked = replace(PACKAGE, questions=(replace(ASKED, quotes=()),))
    found = row(tiny_embedder, unmarked, parts={1: ("The key is under the blue pot.",)})
    assert (found.hit, found.partly) == (False, True)
    assert row(tiny_embedder, unmarked, whole=(1,)).hit


@pytest.mark.parametrize(
    ("quotes", "message"),
    [
        (("a key", "a pot"), "has 2 quotes for 1 evidence turns; give one for each turn, or none"),
        (("under the red pot",), "quotes 'under the red pot', which turn 1 does not say"),
        ((" ",), "quotes ' ', which turn 1 does not say"),
    ],
)
def test_quotes_that_the_turns_do_not_say_are_refused(quotes, message):
    check_packages([PACKAGE])
    wrong = replace(PACKAGE, questions=(replace(ASKED, quotes=quotes),))
    with pytest.raises(DataError, match=message):
        check_packages([wrong])


def test_questions_without_quotes_are_described_as_before():
    """Their packages keep their hashes."""
    assert "quotes" not in described(replace(ASKED, quotes=()))
    assert PACKAGE.sha256 != replace(PACKAGE, questions=(replace(ASKED, quotes=()),)).sha256


@pytest.mark.parametrize("spec", ["tsim:budget=40", "packed_turns:budget=40,passages=true"])
def test_systems_say_which_part_of_a_long_turn_they_show(tiny_embedder, spec):
    """The tiny model reads 46 tokens, so the turn is divided."""
    paragraphs = [f"{'the rule ' * 12}marker{letter}." for letter in "abcdefgh"]
    text = "\n\n".join(paragraphs)
    system = open_system(spec, Tools(embedder=tiny_embedder))
    try:
        turns = [
            StreamTurn(id=0, role="user", text="rule"),
            StreamTurn(id=1, role="user", text=text),
        ]
        system.ingest(turns)
        found = system.retrieve(Asked(id="q", question="What of markerc?", options=None))
    finally:
        system.close()
    assert 1 not in found.shown
    (part,) = found.parts[1]
    if spec.startswith("tsim"):  # vectors of the tiny model know no words
        assert "markerc" in part
    assert part in text
    assert len(part) < len(text)
