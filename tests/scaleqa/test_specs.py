"""What users write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaleqa.errors import DataError
from scaleqa.specs import Spec, split_specs

WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
VALUES = st.from_regex(r"[\w./+:@-]{1,12}", fullmatch=True)
NAMES = WORDS | WORDS.map(lambda word: f"some/{word}.py:{word}")


@given(name=NAMES, options=st.dictionaries(WORDS, VALUES, max_size=3))
def test_what_is_written_is_read_back(name, options):
    spec = Spec(name=name, options=options)
    assert Spec.parse(str(spec)) == spec
    assert str(Spec.parse(str(spec))) == str(spec)


@given(name=WORDS, subject=VALUES, options=st.dictionaries(WORDS, VALUES, max_size=3))
def test_a_subject_comes_before_the_options(name, subject, options):
    spec = Spec(name=name, subject=subject, options=options)
    assert Spec.parse(str(spec), subject=True) == spec


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("tsim", "tsim", {}),
        ("tsim:", "tsim", {}),
        ("a:k=3, size = 4", "a", {"k": "3", "size": "4"}),
        ("a:url=http://x:1/?q=2", "a", {"url": "http://x:1/?q=2"}),
        ("dir/file.py:make", "dir/file.py:make", {}),
        ("/dir/file.py:make:k=3,j=a:b", "/dir/file.py:make", {"k": "3", "j": "a:b"}),
    ],
)
def test_names_and_options_are_told_apart(text, name, options):
    assert Spec.parse(text) == Spec(name=name, options=options)


def test_subjects_may_hold_anything_but_commas():
    spec = Spec.parse("openai:m=1@http://x:1/v1,rpm=3", subject=True)
    assert (spec.name, spec.subject, spec.options) == ("openai", "m=1@http://x:1/v1", {"rpm": "3"})
    assert Spec.parse("extractive", subject=True) == Spec(name="extractive")


@pytest.mark.parametrize("text", ["a:k", "a:=3", "a:k=", "a:k=1,k=2", ":k=1", "", "file.py:k=1"])
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(
        DataError, match=r"not key=value|twice|names nothing|write file.py:ATTRIBUTE"
    ):
        Spec.parse(text)


def test_an_option_is_added_or_replaced_in_its_place():
    spec = Spec.parse("a:k=1,j=2")
    assert str(spec.with_option("k", 5)) == "a:k=5,j=2"
    assert str(spec.with_option("budget", 500)) == "a:k=1,j=2,budget=500"
    assert str(spec) == "a:k=1,j=2"


def test_lists_have_commas_between_specifications_and_semicolons_inside():
    assert split_specs("tsim,fixed_window:size=256;k=3,f.py:make:k=1") == [
        "tsim", "fixed_window:size=256,k=3", "f.py:make:k=1",
    ]  # fmt: skip
    assert split_specs("tsim,,") == ["tsim"]
    with pytest.raises(DataError, match="not key=value"):
        split_specs("tsim:k")


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_a_list_of_nothing_is_refused(text):
    with pytest.raises(DataError, match="the list is empty"):
        split_specs(text)


def test_an_option_after_a_comma_is_said_to_be_one():
    with pytest.raises(DataError, match=r"'long=0' is an option, not a name; .* by semicolons"):
        split_specs("packed_turns:budget=500, long=0")
