"""Whatever JSON holds comes back as it was; what is words can be searched for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.adapters.keeping import OURS, keep, kept
from tsim.adapters.shape import lift, lower
from tsim.checking import check_turn
from tsim.errors import InputError
from tsim.types import NewTurn

FORM, LOST = "test", {f"{OURS}test": ""}
EMPTY = NewTurn(role="user", text="")
NAMES = st.sampled_from(["text", "content", "args", "input", "name", "arguments", "$", "role"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text("a $\n", max_size=9)
VALUES = st.recursive(
    SCALARS | st.just("a long text " * 20) | st.just("x" * 300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
VALUES |= st.lists(st.just("$") | st.integers(0, 3), max_size=4)


@given(VALUES, st.booleans())
def test_values_come_back_as_they_were(value, every):
    text, shape = lift(value, every=every)
    assert lower(text, shape) == value


@given(VALUES, st.booleans())
def test_values_come_back_from_turns_or_are_known_to_be_lost(value, every):
    turn = check_turn(keep(value, EMPTY, FORM, every=every)).numbered(3)
    assert turn.meta == LOST or kept(turn, FORM) == value


def test_what_was_said_is_text_and_data_is_not():
    called = {"type": "tool_use", "name": "weather", "input": {"city": "Paris", "days": 3}}
    assert lift(called)[0] == "weather\nParis"
    image = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 100}}
    assert lift([image, {"type": "text", "text": "look"}])[0] == "look"
    assert lift({"note": "a remark that is rather long " * 9})[0].startswith("a remark")


def test_a_shape_that_is_too_long_is_left_out():
    image = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 2000}}
    turn = check_turn(keep([image], EMPTY, FORM, label="image")).numbered(0)
    assert (turn.text, turn.meta == LOST, kept(turn, FORM)) == ("(image)", True, None)


def test_what_must_come_back_does_however_long_its_shape_is():
    value = {"numbers": [*range(3000)], "text": "one gpu"}
    turn = check_turn(keep(value, EMPTY, FORM, always=True)).numbered(0)
    assert kept(turn, FORM) == value
    assert "one gpu" in turn.text


@pytest.mark.parametrize(
    "value", [{"a": object()}, {"a": b"x"}, {"a": {1}}], ids=["object", "bytes", "set"]
)
def test_what_is_no_json_is_refused(value):
    with pytest.raises(InputError, match="cannot be written as JSON"):
        lift(value)


def test_what_has_no_end_is_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InputError, match="cannot be written as JSON"):
        lift(endless)


def test_half_characters_in_names_come_back():
    value = {"role": "user", "kind": "\ud800", "text": "gpu"}
    assert kept(check_turn(keep(value, EMPTY, FORM)).numbered(0), FORM) == value


@pytest.mark.parametrize("shape", ["", "{", '["$",0,9]', '["$",-1,1]', "[" * 5000])
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(InputError, match="no shape"):
        lower("abc", shape)


def test_the_shape_is_short_and_the_same_every_time():
    message = {"role": "user", "content": [{"type": "text", "text": "one gpu"}]}
    assert lift(message) == (
        "one gpu",
        json.dumps(
            {"role": "user", "content": [{"type": "text", "text": ["$", 0, 7]}]},
            separators=(",", ":"),
        ),
    )
