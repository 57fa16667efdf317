"""Hits and episodes in notebooks: what others said does nothing there."""

import html.parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaleqa.pages.forms import text
from scaleqa.pages.table import Column, Table
from tests.support.hashes import Hashes
from tsim import Episode, Episodes, Hit, Hits, Memory, SpanWhy, Turn, Why
from tsim.markup import LONGEST

HOSTILE = "</div><script>alert(1)</script><img src=x onerror=alert(1)> \u202e\x1b[31m &amp; \"'"


class Tags(html.parser.HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def turn(number: int, said: str, role: str = "user", **more) -> Turn:
    return Turn(id=number, role=role, text=said, **more)


def hit(*turns: Turn, thread: str = "alice", why=None) -> Hit:
    return Hit(episode=0, turns=turns, score=0.5, why=why or Why(raw=1.0), thread=thread)


@given(st.text(max_size=80), st.sampled_from([HOSTILE, "Ada"]))
def test_nothing_that_was_said_becomes_markup(said, role):
    found = hit(turn(1, said + HOSTILE, role), thread=HOSTILE)
    for shown in (found, Hits([found]), Episode(id=0, turns=found.turns)):
        page = Tags(shown._repr_html_())
        assert page.tags <= {"div", "b", "details", "summary"}
        assert page.attributes == {"style"}
        assert "alert(1)" in page.text
        assert "\u202e" not in page.text
        assert "\x1b" not in page.text


def test_a_hit_shows_where_it_is_how_relevant_it_is_and_why():
    why = SpanWhy(anchor=1, dense=0.5, lexical=0.5, share=1.0, relevance=0.9)
    found = Hit(
        episode=0, turns=(turn(1, "one gpu"),), score=0.9, why=why, relevance=0.9, thread="a"
    )
    said = Tags(found._repr_html_()).text
    assert "a, turns 1, relevance 90%" in said
    assert "one gpu" in said
    assert str(why) in said
    assert "score 0.50" in Tags(hit(turn(1, "x"))._repr_html_()).text


def test_of_long_turns_only_what_is_shown_is_shown_and_lists_end():
    cut = turn(1, "abc def ghi", shown=((0, 3), (8, 11)))
    assert "abc … ghi" in Tags(hit(cut)._repr_html_()).text
    assert len(hit(turn(1, "x" * 10**6))._repr_html_()) < 2 * LONGEST
    many = Tags(Hits([hit(turn(n, f"t{n}.")) for n in range(50)])._repr_html_()).text
    assert "50 hits, the first 20" in many
    assert "t19." in many
    assert "t20." not in many
    assert "0 episodes" in Tags(Episodes()._repr_html_()).text


def test_colours_are_those_of_the_page_around_it():
    assert "color" not in Hits([hit(turn(1, "x"))])._repr_html_()


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_searches_and_episodes_are_lists_that_show_themselves(tmp_path, threshold):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as memory:
        thread = memory.thread("alice")
        thread.add("user", "one gpu")
        assert isinstance(thread.search("gpu", min_relevance=0), Hits)
        assert isinstance(memory.search("gpu", threads=["alice"]), Hits)
        found = thread.episodes(threshold=threshold)
        assert isinstance(found, Episodes)
        assert "one gpu" in found._repr_html_()


def test_tables_of_the_benchmark_show_themselves():
    column = Column(key="a", head="<b>", form=text)
    page = Tags(Table(title=HOSTILE, columns=(column,), rows=({"a": HOSTILE},))._repr_html_())
    assert page.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert page.text == f"{HOSTILE}<b>{HOSTILE}".replace("\r", "\n")
