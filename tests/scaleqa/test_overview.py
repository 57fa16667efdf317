"""All tables of the paper on one page: taken from their pages, never written twice."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.pages.markdown import to_markdown
from scaleqa.pages.page import Facts, Notes, Page, Paragraph, Section
from scaleqa.pages.table import Column, Table
from scaleqa.reproduce.overview import ORDER, REMARKS, overview
from tests.conftest import ROOT

TABLE = Table(columns=(Column(key="a", head="a"),), rows=({"a": 0.5}, {"a": 0.25}))
SECOND = Table(title="Second", columns=(Column(key="b", head="b"),), rows=({"b": 1},))
REMARKED = (
    "# All\n\nHead.\n\n## views\n\nWhy: [a](../b.md#c), [d](#e), [f](https://g).\n\n"
    "## Elsewhere\n\nAnd this.\n"
)


def page_of(title, command="scaleqa reproduce views"):
    said = (f"This page is generated: `{command}`.", "What it is.", "5 questions.")
    below = (Notes(items=("A note.",)), Facts(items=(("Dates", "today"),)))
    section = Section(blocks=(TABLE, SECOND, *below))
    introduction = tuple(Paragraph(text=text) for text in said)
    return to_markdown(Page(title=title, introduction=introduction, sections=(section,)), "views")


def test_tables_are_followed_by_what_we_say_to_them():
    text = overview({"views": page_of("Views")}, REMARKED, "paper", "again")
    assert text == (
        "# All\n\nHead.\n\nThis page is generated: `again`.\n\n## Views\n\n5 questions.\n\n"
        "| a |\n|---:|\n| 0.500 |\n| 0.250 |\n\n### Second\n\n| b |\n|---:|\n| 1.000 |\n\n"
        "Why: [a](b.md#c), [d](#e), [f](https://g).\n\n"
        "[More](paper/views.md), made by `scaleqa reproduce views`.\n\n"
        "## Elsewhere\n\nAnd this.\n"
    )


def test_tables_stand_in_the_order_of_the_paper():
    pages = {name: page_of(f"Title {name}") for name in reversed(ORDER)}
    remarks = "# All\n" + "".join(f"## {name}\n\nSo.\n\n" for name in ORDER)
    text = overview(pages, remarks, "paper", "again")
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [f"## Title {name}" for name in ORDER]


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({}, "no page of a table; expected some of main, ablation"),
        ({"views": "# Views\n\nNothing.\n"}, r"views\.md has no title or no table"),
        ({"views": page_of("V"), "theta": page_of("T")}, r"remarks\.md says nothing about theta"),
    ],
)
def test_what_is_missing_is_named(pages, said):
    with pytest.raises(DataError, match=said):
        overview(pages, REMARKED, "paper", "again")


def test_the_published_page_is_that_of_the_published_tables(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs" / "paper", tmp_path / "docs" / "paper")
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "overview", "docs/paper", "--out", "docs/paper.md", "--json"]
    ran = CliRunner().invoke(app, command)
    assert json.loads(ran.stdout)["path"] == "docs/paper.md"
    made = (tmp_path / "docs" / "paper.md").read_text("utf-8")
    assert made == (ROOT / "docs" / "paper.md").read_text("utf-8")


def test_remarks_are_asked_for(tmp_path):
    command = ["reproduce", "overview", str(tmp_path), "--out", str(tmp_path / "o.md")]
    ran = CliRunner().invoke(app, command)
    assert f"{REMARKS} is missing" in str(ran.exception)
    assert not (tmp_path / "o.md").exists()
