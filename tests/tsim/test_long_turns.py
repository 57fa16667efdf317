"""What is said once in a turn of 4,000 words is found, with the real model."""

import importlib

import pytest

from tests.conftest import ROOT


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("passages")


def test_the_long_turns_are_what_they_say(bench):
    made = [*bench.threads()]
    needles = [needle for thread in made for needle in thread.needles]
    assert len({needle.text for needle in needles}) == len(needles) == 108
    for thread in made:
        long = [turn.text for turn in thread.turns if len(turn.text.split()) >= 4000]
        assert len(long) == len(thread.needles) == 4
        for text, needle in zip(long, thread.needles, strict=True):
            assert text.count(needle.text) == 1
    again = [thread.turns for thread in bench.threads()]
    assert again == [thread.turns for thread in made]


@pytest.mark.slow
def test_a_needle_in_4000_words_is_in_the_context_at_500_tokens(minilm, bench):
    found = [*bench.search(bench.Kept(minilm), 500)]
    assert len(found) == 108
    same, other = (
        [hit for needle, hit in found if needle.wording == wording] for wording in bench.WORDINGS
    )
    assert sum(same) / len(same) >= 0.98
    # The rest of the way is the encoder's: it does not see a puncture in a flat tyre.
    assert sum(other) / len(other) >= 0.35
