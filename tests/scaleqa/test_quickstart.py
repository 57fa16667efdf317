import json
import subprocess
import sys
from pathlib import Path


def test_quickstart_finds_the_project_the_question_names(minilm):
    command = [str(Path(sys.executable).with_name("scaleqa")), "quickstart", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    hits = json.loads(ran.stdout)["hits"]
    assert any("Halden" in turn for turn in hits[0]["turns"])
    assert hits[0]["score"] >= hits[1]["score"]
