"""Drawings: sound SVG whatever texts say, true to their values, the same bytes every time."""

import hashlib
import re
import xml.etree.ElementTree as ET

import pytest

from scaleqa.pages.drawings import (
    PALETTE,
    Bar,
    Line,
    Point,
    Stack,
    Track,
    bars,
    colours,
    dots,
    lines,
    stacked,
    standalone,
    strip,
)
from scaleqa.report.palette import base_colour, system_colours
from scaleqa.systems import systems

NASTY = (
    "</script><script>document.title='owned'</script><!-- \"it's\" & \u2028 <img src=x onerror=1>"
)

FIGURES = [
    bars([Bar(label=NASTY, value=0.5, low=0.4, high=0.6, mark=0.7)], title=NASTY, description="d"),
    bars([], title="t", description="d"),
    dots([Bar(label="a", value=-0.2, low=-0.3, high=0.1)], title="t", description=NASTY),
    lines(
        [Line(label=NASTY, points=(Point(x=0, y=0.1, low=0, high=0.2), Point(x=1, y=0.5)))],
        title="t", description="d", x_label=NASTY, ticks=[(0, "a"), (1, NASTY)],
    ),
    lines([Line(label="a", points=(Point(x=3, y=1),))], title="t", description="d", x_label="x",
          ticks=[(3, "3")]),
    stacked([Stack(label=NASTY, parts=(0.3, 0.7))], [(NASTY, "#000000"), ("b", "#ffffff")],
            title="t", description="d"),
    strip([Track(label=NASTY, places=(1, 2, 99))], length=100, divider=90, title="t",
          description="d"),
]  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_sound_xml_with_a_title_and_a_description(figure):
    root = ET.fromstring(standalone(figure))
    tags = [child.tag.rpartition("}")[2] for child in root]
    assert tags[:2] == ["title", "desc"]
    assert root.get("role") == "img"
    assert "nan" not in figure
    assert not any(element.tag.endswith(("script", "img")) for element in root.iter())


def test_bars_are_as_long_as_their_values():
    figure = bars([Bar(label="a", value=v) for v in (1.0, 0.5, 0.0)], title="t", description="d")
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', figure)]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.1)
    assert widths[2] == 0


def test_places_that_touch_are_drawn_as_one():
    tracks = [Track(label="e", places=(500,)), Track(label="s", places=tuple(range(100, 300)))]
    figure = strip(tracks, length=5000, title="t", description="d")
    assert [path.count("M") for path in re.findall(r'<path d="([^"]*)"', figure)] == [1, 1, 1]


def test_colours_are_stable_and_different_as_long_as_there_are_enough():
    declared = {"ours": "#0072b2", "theirs": "#d55e00", "mine": None, "mine:size=256": None}
    found = colours(declared)
    assert found == colours(dict(reversed(declared.items())))
    assert len({*found.values()}) == len(declared)
    assert found["ours"] == "#0072b2"


def test_systems_have_the_colours_that_they_declare():
    names = ["tsim_official", "standard_rag", "mine", "fixed_window:size=256"]
    found = system_colours(names)
    assert found["tsim_official"] == base_colour("tsim_official:k=3")
    assert len({*found.values()}) == len(names)
    declared = [one.colour for one in systems() if one.colour]
    assert len({*declared}) == len(declared)


TEXT = {"title": "t <1>", "description": "d & e"}
GOLDEN = {
    "1289e9d7cc2a7336": bars(
        [
            Bar(label="tsim", value=0.995, low=0.99, high=0.998, colour="#56b4e9", mark=0.81),
            Bar(label="a name that is far longer than a label may be", value=0.25),
        ],
        mark_name="the paper's",
        **TEXT,
    ),
    "4b33754eb47c224f": bars(
        [Bar(label="x", value=12.5), Bar(label="y", value=3)],
        title="t", description="d", most=12.5, form=lambda v: f"{v:.1f} ms",
    ),
    "3f17dd8b6aa4c3a8": dots(
        [Bar(label="a", value=-0.2, low=-0.31, high=0.1), Bar(label="b", value=0.07)],
        title="t", description="d", form=lambda v: f"{100 * v:+.1f}",
    ),
    "1f5aed09043e07eb": lines(
        [
            Line(
                label=f"l{i}",
                colour=PALETTE[i],
                points=tuple(
                    Point(x=x, y=(x + i) / 20, low=x / 30, high=(x + i + 2) / 20) for x in (1, 3, 7)
                ),
            )
            for i in range(7)
        ],
        title="t", description="d", x_label="x", ticks=[(1, "one"), (3, "three"), (7, "seven")],
    ),
    "90f724c7ccfd108c": stacked(
        [Stack(label=name, parts=parts) for name, parts in
         {"r1": (0.2, 0.3, 0.5, 0.0), "r2": (0.01, 0.9, 0.04, 0.05)}.items()],
        [("p", "#0072b2"), ("q", "#8fc1e3"), ("r", "#e69f00"), ("s", "#9aa0a6")],
        title="t", description="d",
    ),
    "6b3696215dc9e8d8": strip(
        [
            Track(label="evidence", places=(3, 50), colour="#d1495b"),
            Track(label="tsim", places=(*range(40, 60), 99)),
        ],
        length=120, divider=100, title="t", description="d",
    ),
    "6150b8557ecb7a48": standalone(strip([], length=0, title="t", description="d")),
}  # fmt: skip


@pytest.mark.parametrize(("digest", "drawing"), GOLDEN.items(), ids=GOLDEN)
def test_the_same_data_gives_the_bytes_it_always_gave(digest, drawing):
    assert hashlib.sha256(drawing.encode()).hexdigest()[:16] == digest
