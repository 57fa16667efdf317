"""`scaleqa review` as a process: links, a port, a death without a last word."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from tests.support.records import make, write

RECORDS = [make(n) for n in range(1, 5)]
SAME = {"sec-fetch-site": "same-origin"}


@contextmanager
def started(path, out, *words):
    """Starts the command; yields the process and the links."""
    command = ["review", str(path), "--out", str(out), "--port", "0", "--json", "--no-embeddings"]
    process = subprocess.Popen(
        [sys.executable, "-m", "scaleqa", *command, "--open", "--reviewer", "ana", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = ""
        while not said.rstrip().endswith("]"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            said += line
        yield process, {one["name"]: one["link"] for one in json.loads(said)}
    finally:
        process.kill()
        process.communicate()


def accept(client, base, number):
    page = client.get(f"{base}/records/{number}").text.partition("<h1>")[2]
    fields = dict(re.findall(r'name="(id|version)" value="(\w+)"', page))
    return client.post(f"{base}/records/{number}", data={**fields, "verdict": "accept"})


@pytest.mark.slow  # a process that is started twice
def test_what_was_answered_survives_a_kill_and_links_stay_valid(tmp_path):
    path, out = write(tmp_path / "r.jsonl", RECORDS), tmp_path / "out"
    with started(path, out) as (process, links):
        base = links["ana"].partition("/?")[0]
        with httpx.Client(headers=SAME, follow_redirects=True) as client:
            assert client.get(f"{base}/").status_code == 403
            assert client.get(links["ana"]).status_code == 200
            for number in (1, 2, 3):
                assert accept(client, base, number).status_code == 200
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    with (out / "decisions.jsonl").open("ab") as file:
        file.write(b'{"id": "torn')
    with started(path, out) as (process, links):
        token = links["ana"].partition("?")[2]
        with httpx.Client(headers=SAME, follow_redirects=True) as client:
            assert "3 of 4 decided" in client.get(links["ana"]).text
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0 and "was not finished" in said
        assert token.removeprefix("token=") not in said
    assert (out / "decisions.jsonl").read_bytes().count(b"\n") == 3
