import json
import subprocess
import sys
from pathlib import Path


def quickstart(out: Path) -> list[dict]:
    command = [str(Path(sys.executable).with_name("scaleqa")), "quickstart", "--json"]
    ran = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def test_quickstart_compares_systems_and_repeats_without_asking_again(minilm, tmp_path):
    first = quickstart(tmp_path / "q")
    hits = {row["system"]: row["hit"] for row in first}
    assert len(hits) >= 5
    assert hits["oracle"] == 1
    assert hits["tsim"] > hits["tsim_official"] > hits["standard_rag"]
    assert all(row["questions"] == 80 for row in first)
    page = (tmp_path / "q" / "report.html").read_bytes()
    assert b"SCALE-QA report" in page
    assert quickstart(tmp_path / "q") == first
    assert (tmp_path / "q" / "report.html").read_bytes() == page
