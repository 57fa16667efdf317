"""The published example: what was released follows from its receipts."""

import shutil

import pytest

from tests.conftest import ROOT
from tests.scaleqa.construct.support import scaleqa

EXAMPLE = ROOT / "examples" / "construct"


def test_the_example_is_released_again_from_its_receipts(tmp_path):
    place = tmp_path / "construction"
    place.mkdir()
    shutil.copy(EXAMPLE / "receipts.jsonl", place)
    ran = scaleqa("construct", "release", place, "--to", tmp_path / "records.jsonl")
    assert ran.exit_code == 0, ran.output
    for name in ("records.jsonl", "draws.jsonl", "calibration.jsonl", "funnel.md"):
        assert (tmp_path / name).read_bytes() == (EXAMPLE / name).read_bytes(), name


def test_the_example_is_valid():
    checked = ("data", "validate", EXAMPLE, "--cell", "own:Gardening", "--no-embeddings")
    assert scaleqa(*checked).exit_code == 0


def test_a_cell_of_ones_own_that_is_not_declared_is_told_how_to_be(tmp_path):
    for place in (EXAMPLE, EXAMPLE / "records.jsonl"):
        ran = scaleqa("data", "validate", place, "--no-embeddings")
        assert ran.exit_code
        assert "--cell own:Gardening" in str(ran.exception) + ran.output
    shutil.copy(EXAMPLE / "records.jsonl", tmp_path)  # without receipts
    ran = scaleqa("data", "validate", tmp_path, "--no-embeddings")
    assert "unknown split or domain; a cell of your own" in ran.output


@pytest.mark.parametrize("cell", ["Gardening", "own:", ":Gardening", "", "own:Gardening-001"])
@pytest.mark.parametrize("verb", ["validate", "draw"])
def test_what_is_no_cell_is_refused_as_such(verb, cell):
    ran = scaleqa("data", verb, EXAMPLE / "records.jsonl", "--cell", cell)
    assert ran.exit_code
    assert "is no cell; expected SPLIT:DOMAIN" in str(ran.exception) + ran.output


def test_what_was_released_can_be_used(tmp_path):
    ran = scaleqa(
        "build", "--records", EXAMPLE / "records.jsonl", "--target", "0", "--out", tmp_path / "own"
    )
    assert ran.exit_code == 0, ran.output
    assert [*(tmp_path / "own").iterdir()]
