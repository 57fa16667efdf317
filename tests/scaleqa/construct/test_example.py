"""The published example: what was released follows from its receipts."""

import shutil

from typer.testing import CliRunner

from scaleqa.cli.app import app
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "construct"


def scaleqa(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


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
