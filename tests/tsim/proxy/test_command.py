"""`tsim proxy` as a process."""

import json
import os
import signal
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from tests.tsim.proxy.talk import user
from tsim.cli.app import app
from tsim.errors import TsimError


def test_it_answers_without_a_model_and_stops_when_it_is_told_to(model, tmp_path):
    place = str(tmp_path / "memories")
    options = ("--upstream", model.url, "--at", place, "--port", "0", "--json")
    nothing = {"TSIM_CACHE": str(tmp_path / "empty"), "TSIM_OFFLINE": "1", "TSIM_MODEL": ""}
    command = [sys.executable, "-c", "from tsim.cli.app import main; main()", "proxy", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, **nothing}, text=True, **pipes) as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            said += process.stdout.readline()
        found = json.loads(said)
        assert found["upstream"] == model.url
        assert "tsim models fetch" in found["memory"]
        body = {"model": "echo", "messages": [user("hello")]}
        answer = httpx.post(f"{found['url']}/chat/completions", json=body)
        assert answer.json()["choices"][0]["message"]["content"] == "You said: hello"
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "a conversation is not written" in log


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--upstream", "nonsense"], "is no address of a server"),
        (["--upstream", "http://h/v1", "--budget", "0"], "budget=0"),
        (["--upstream", "http://h/v1", "--host", "0.0.0.0"], "there is no valid key"),
        (["--upstream", "http://h/v1", "--model", "mini-lm"], "mini-lm"),
    ],
    ids=["upstream", "budget", "host", "model"],
)
def test_what_cannot_be_started_is_said(options, problem, tmp_path):
    place = tmp_path / "memories"
    found = CliRunner().invoke(app, ["proxy", *options, "--at", str(place)])
    assert isinstance(found.exception, TsimError)
    assert problem in str(found.exception)
    assert not place.exists()
