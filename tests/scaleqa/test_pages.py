"""Pages: one table in four forms, whole names at 80 columns, nothing unescaped."""

import json
import re
from dataclasses import replace

import pytest
from jinja2 import UndefinedError

from scaleqa import paper
from scaleqa.errors import DataError
from scaleqa.evaluate.cuts import Segmented
from scaleqa.evaluate.rows import Account, Timing
from scaleqa.lengths import length, length_name, parse_target
from scaleqa.packages import build
from scaleqa.pages.drawings import Bar, bars
from scaleqa.pages.forms import count, percent, signed, span, text
from scaleqa.pages.html import to_html
from scaleqa.pages.inline import runs
from scaleqa.pages.json import to_json
from scaleqa.pages.markdown import drawing_files, to_markdown
from scaleqa.pages.page import Drawing, Facts, Notes, Page, Paragraph, Section, Variant
from scaleqa.pages.table import Column, Table, interval, listing
from scaleqa.pages.terminal import to_text
from scaleqa.report.cuts import cuts_page
from scaleqa.report.retrieval import retrieval_page
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import row as any_row

# The longest specifications that our own tables have.
SPECS = (
    "tsim:budget=750,off=reentry",
    "tsim_official:theta=0.62",
    "fixed_window:size=256",
    "perfect_episodes:k=5",
    "full_context:cap=88000",
)
WIDE = Table(
    title="A table",
    columns=(
        Column(key="where", head="threads", form=text),
        Column(key="system", head="system", form=text),
        Column(key="value", head="all evidence in context"),
        interval("interval"),
        Column(key="s1", head="s1"),
        Column(key="s2", head="s2"),
        Column(key="tokens", head="context tokens", form=count),
        Column(key="absent", head="never there"),
        Column(key="difference", head="ours less this", form=signed),
        interval("difference_interval"),
        Column(key="p", head="McNemar p", form=lambda value: f"{value:.1g}"),
    ),
    rows=tuple(
        {
            "where": "128k, resumed", "system": spec, "value": 0.9, "interval": (0.85, 0.95),
            "s1": 0.5, "s2": 0.25, "tokens": 88_425, "difference": 0.1,
            "difference_interval": (-0.1, 0.3), "p": 2e-21,
        }
        for spec in SPECS
    ),
)  # fmt: skip


def test_at_80_columns_no_line_is_longer_and_no_name_or_value_is_cut():
    printed = to_text(WIDE, 80)
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    parts = printed.split("\n\n")
    assert len(parts) > 1
    for part in parts:
        assert all(f" {spec} " in part for spec in SPECS)
    for row in WIDE.rows:
        values = [column.written(row) for column in WIDE.columns if column.key != "absent"]
        assert all(value in printed for value in values)
    assert "never" not in printed


def test_an_interval_stays_with_its_value():
    for width in range(60, 140, 5):
        for part in to_text(WIDE, width).split("\n\n"):
            assert ("0.850–0.950" in part) == ("0.900" in part)
            assert ("-0.100 to 0.300" in part) == ("+0.100" in part)


def test_a_wide_terminal_gets_one_table():
    printed = to_text(WIDE, 200)
    assert "\n\n" not in printed
    assert printed.count("fixed_window:size=256") == 1


def test_words_are_broken_between_words_and_names_are_printed_whole_however_long():
    table = listing([{"name": "n" * 90, "about": "some words " * 20, "count": 3}])
    printed = to_text(table, 80)
    assert "n" * 90 in printed
    assert "…" not in printed
    prose = listing([{"format": "authored", "what": "word " * 60}])
    assert max(map(len, to_text(prose, 80).splitlines())) <= 80
    assert to_text(prose, 80).split().count("word") == 60


def test_brackets_and_colons_of_data_are_no_markup():
    assert "[bold]x[/bold] :smile:" in to_text(listing([{"a": "[bold]x[/bold] :smile:", "b": "c"}]))


BELOW = Column(key="hit_interval", head="95 %", form=span)
PAGE = Page(
    title="T & T",
    introduction=(Paragraph(text="Made by `x | y`, **with care**."), Facts(items=(("A", "<b>"),))),
    sections=(
        Section(
            name="one",
            title="One",
            blocks=(
                Drawing(svg=bars([Bar(label="a", value=1)], title="t", description="d"), title="D"),
                Table(
                    title="Hits",
                    columns=(
                        Column(key="system", head="system", form=text, swatches={"a:b": "#123456"}),
                        Column(key="hit", head="hit", form=percent, below=(BELOW,), heat=True,
                               signs="a"),
                    ),
                    rows=(
                        {"system": "a:b", "hit": 0.5, "hit_interval": (0.25, 0.75)},
                        {"system": "c"},
                    ),
                ),
                Notes(items=("N <i>.",)),
            ),
        ),
        Section(
            name="two",
            title="Two",
            blocks=tuple(
                Variant(title=name, blocks=(Paragraph(text=f"About {name}."),)) for name in "xy"
            ),
        ),
    ),
)  # fmt: skip


def test_a_page_as_markdown():
    written = to_markdown(PAGE, "p")
    assert written.startswith("# T & T\n\nMade by `x | y`, **with care**.\n\n- A: <b>\n\n## One\n")
    assert "![D](p.svg)" in written
    assert "### Hits\n\n| system | hit<sup>a</sup> |\n|---|---:|\n" in written
    assert "| a:b | 50.0\u00a0% (0.250–0.750) |\n| c | – |" in written
    assert "### y\n\nAbout y.\n" in written
    assert [*drawing_files(PAGE, "p")] == ["p.svg"]


def test_a_page_as_html():
    written = to_html(PAGE)
    assert "Made by <code>x | y</code>, <strong>with care</strong>." in written
    assert "<dt>A</dt><dd>&lt;b&gt;</dd>" in written
    assert '<p class="notes">N &lt;i&gt;.</p>' in written
    assert 'style="background:#123456"></i>a:</span><wbr>b</th>' in written
    assert 'style="--heat:0.500">50.0\u00a0%<small>0.250–0.750</small></td>' in written
    assert "<td>–</td>" in written
    assert re.findall(r'data-setting="(\d)"><h3>(.)</h3>', written) == [("0", "x"), ("1", "y")]
    assert "default-src 'none'" in written
    assert to_html(PAGE) == written
    with pytest.raises(UndefinedError):
        to_html(PAGE, "report.html")


def test_a_page_for_programs_has_numbers():
    told = json.loads(json.dumps(to_json(PAGE)))
    assert told["title"] == "T & T"
    assert told["tables"][0]["rows"][0] == {
        "system": "a:b", "hit": 0.5, "hit_interval": [0.25, 0.75]
    }  # fmt: skip
    assert told["notes"] == ["N <i>.", "About x.", "About y."]


def test_marked_words_are_told_from_plain_ones():
    assert runs("a `b` c **d**") == [
        ("plain", "a "), ("code", "b"), ("plain", " c "), ("strong", "d")
    ]  # fmt: skip
    assert runs("2 * 3 ** 4 and `") == [("plain", "2 * 3 ** 4 and `")]


def test_lengths_are_read_as_they_are_written():
    for target in (0, 16_000, 128_000, 1_000_000):
        assert parse_target(length(target)) == target
    assert [length_name(target) for target in (None, 0, 2500)] == [
        "unknown length", "evidence only", "2.5k"
    ]  # fmt: skip
    for wrong in ("", "k", "long", "1.5k", "-1", "²k"):
        with pytest.raises(DataError, match="is no length"):
            parse_target(wrong)


def test_the_paper_s_recall_is_found_under_both_names_of_a_system():
    assert paper.recall("fixed_window", paper.LARGE, 128_000) == 0.719
    assert paper.recall("fixed_window:size=128", f"{paper.LARGE}@x", 128_000) == 0.719
    assert paper.recall("tsim_official", paper.SMALL, 128_000) == 0.649
    assert paper.recall("tsim_official", paper.SMALL, 16_000) is None
    assert paper.together("fixed_window", 128_000) == 0.675


def asked(number, domain="Legal", **changes):
    """A row of retrieval at 128k."""
    one = any_row(number, domain=domain, target=128_000, **changes)
    return one.model_copy(update={"run": one.run.model_copy(update={"reader": None})})


@pytest.fixture
def packages():
    return [replace(one, settings={**one.settings, "target": 128_000})
            for one in build(RECORDS[:4], NOISE, settings_of(2500))]  # fmt: skip


def test_the_retrieval_page_has_what_is_known_and_no_more(packages):
    rows = {"tsim": [asked(n, hit=n < 2) for n in range(4)]}
    page = retrieval_page(rows, packages, "scaleqa retrieve x")
    (main,) = page.tables
    assert main.rows[0]["in_context"] == 0.5
    text = to_markdown(page, "t")
    assert "This page is generated: `scaleqa retrieve x`." in text
    assert "- Embedder: all-MiniLM-L6-v2@x/mean/256" in text
    assert "Difference" not in text


def test_the_retrieval_page_compares_with_the_first_system_and_the_paper(packages):
    account = Account(turns=50, words=100, vectors=60, indexed_words=200, embedded_texts=60)

    def system(name, hits, **last):
        rows = [asked(n, ("Legal", "Finance")[n % 2], system=name, hit=n < hits) for n in range(4)]
        return [*rows[:-1], rows[-1].model_copy(update=last)]

    timing = Timing(retrieve_ms=4.0, ingest_ms=25.0)
    views = {"views": {"raw": True}}
    rows = {
        "tsim": system("tsim", 4, account=account, timing=timing),
        "tsim_official": system("tsim_official", 1, **views),
    }
    page = retrieval_page(rows, packages, "c")
    main, against, groups, kept, views = page.tables
    assert main.rows[1]["paper_large"] == 0.81
    assert against.title.startswith("Difference to tsim ")
    assert against.cells()[1][-3] == "-0.750"
    assert against.cells()[1][-1] == "0.25"
    assert against.cells()[0][-3:] == ["–", "–", "–"]
    assert [column.head for column in groups.columns] == ["system", "Finance (2)", "Legal (2)"]
    assert kept.cells()[0] == ["tsim", "60", "2.00", "1.20", "0"]
    assert views.rows == ({"system": "tsim_official", "view": "raw", "rate": 0.25, "paper": 0.638},)
    assert "by domain" in groups.title


def test_the_page_of_cuts_lists_the_rules():
    rule = Segmented(rule="never", threshold=None, pk=0.4, window_diff=0.5, f1=0.0, cuts=0.0)
    page = cuts_page([rule], 3, {"anno_test.json": "abc"}, "c", "e")
    assert "| never | – | 0.400 | 0.500 | 0.000 | 0.00 |" in to_markdown(page, "t")
    assert "windows of 3 gaps" in to_markdown(page, "t")
    assert "anno_test.json: sha256 abc" in to_markdown(page, "t")
