"""The types of the public API survive the way to a server and back."""

import math
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsim import wire
from tsim.types import (
    Episode,
    Evidence,
    ForgetPreview,
    Forgotten,
    Hit,
    NewTurn,
    Receipt,
    SpanWhy,
    Term,
    Turn,
    View,
    Why,
)

numbers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
metas = st.none() | st.dictionaries(
    st.text(max_size=5),
    st.text(max_size=5) | numbers | floats | st.booleans() | st.none(),
    max_size=3,
)
weights = st.lists(st.tuples(st.text(max_size=5), floats), max_size=2).map(tuple)
ids = st.lists(numbers, max_size=3).map(tuple)
evidence = st.builds(Evidence, term=st.sampled_from(Term), similarity=floats, points=floats)
evidences = st.lists(evidence, max_size=2).map(tuple)
turns = st.builds(
    Turn,
    role=st.text(max_size=5),
    text=st.text(max_size=20),
    at=st.none() | floats,
    meta=metas,
    shown=st.none() | st.lists(st.tuples(numbers, numbers), max_size=2).map(tuple),
)
several = st.lists(turns, max_size=2).map(tuple)
whys = st.builds(
    Why,
    raw=floats,
    summary=floats,
    cluster=floats,
    expansion=floats,
    neighbour=floats,
    evidence=evidences,
)
span_whys = st.builds(
    SpanWhy,
    dense=floats,
    lexical=floats,
    share=floats,
    relevance=floats,
    alone=floats,
    opens=floats,
    closes=floats,
    terms=weights,
    words=weights,
    clues=weights,
    evidence=evidences,
)
hits = st.builds(
    Hit,
    turns=several,
    score=floats,
    why=whys | span_whys,
    relevance=st.none() | floats,
    episodes=ids,
    thread=st.text(max_size=5),
)
views = st.lists(st.sampled_from(View), max_size=3).map(tuple)
VALUES = {
    NewTurn: st.builds(NewTurn, text=st.text(max_size=20), at=st.none() | floats, meta=metas),
    Turn: turns,
    Episode: st.builds(Episode, turns=several),
    Hit: hits,
    Receipt: st.builds(Receipt, views=views, known=st.booleans()),
    ForgetPreview: st.builds(ForgetPreview, turns=ids),
    Forgotten: st.builds(Forgotten, turns=ids, episodes=ids, rebuilt_episodes=ids),
}


def exactly(value):
    """A value with all its types, and with the fields that are not compared."""
    if hasattr(value, "__dataclass_fields__"):
        inner = {one.name: exactly(getattr(value, one.name)) for one in fields(value)}
        return type(value), inner
    if isinstance(value, tuple):
        return tuple, [exactly(one) for one in value]
    if isinstance(value, dict):
        return dict, [(name, exactly(one)) for name, one in value.items()]
    if isinstance(value, float):
        return float, value, math.copysign(1, value)
    return type(value), value


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_what_is_sent_is_what_arrives(kind):
    @settings(max_examples=50)
    @given(VALUES[kind])
    def check(value):
        assert exactly(wire.load(kind, wire.dump(kind, value))) == exactly(value)

    check()


@settings(max_examples=20)
@given(st.lists(hits, max_size=3))
def test_lists_are_sent_with_the_type_of_what_is_in_them(some):
    assert wire.load(list[Hit], wire.dump(list[Hit], some)) == some


def test_either_explanation_is_told_from_the_other_when_it_has_defaults_only():
    for why in (Why(), SpanWhy(anchor=0, dense=0.0, lexical=0.0, share=0.0)):
        hit = Hit(episode=0, turns=(), score=0.0, why=why)
        assert type(wire.load(Hit, wire.dump(Hit, hit)).why) is type(why)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>",
        b"null",
        b"[]",
        b'{"turn": 1, "episode": 2',
        b'{"turn": "1", "episode": 2}',
        b'{"turn": 1.0, "episode": 2}',
        b'{"turn": true, "episode": 2}',
        b'{"turn": 1}',
        b'{"turn": 1, "episode": 2, "views": ["sideways"]}',
    ],
)
def test_nothing_is_taken_for_what_it_is_not(data):
    with pytest.raises(ValueError):
        wire.load(Receipt, data)


def test_a_field_that_a_later_version_adds_is_left_out():
    assert wire.load(Receipt, b'{"turn": 1, "episode": 2, "mood": 3}') == Receipt(turn=1, episode=2)


def test_what_json_cannot_have_is_refused():
    with pytest.raises(ValueError):
        wire.dump(Turn, Turn(id=1, role="user", text="\ud800"))


def test_an_adapter_is_made_once():
    assert wire.adapter(list[Hit]) is wire.adapter(list[Hit])
