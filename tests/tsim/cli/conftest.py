"""The command as users run it."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tsim.cli.app import main


@pytest.fixture
def tsim(tiny, tmp_path):
    """Runs the command on the tiny model in an empty directory."""

    def run(*arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        env = {**os.environ, "TSIM_CACHE": str(tmp_path / "cache"), "TSIM_MODEL": str(tiny)}
        command = [str(Path(sys.executable).with_name("tsim")), *arguments]
        ran = subprocess.run(
            command, input=data, capture_output=True, env=env, cwd=tmp_path, check=False
        )
        return subprocess.CompletedProcess(
            command, ran.returncode, ran.stdout.decode(), ran.stderr.decode()
        )

    return run


@pytest.fixture
def inside(tiny, tmp_path, monkeypatch):
    """Runs the command as `tsim` does, but in this process, which takes a tenth of the time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["tsim", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            try:
                main()
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
        texts = []
        for stream in streams.values():
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())
        return subprocess.CompletedProcess(arguments, code, *texts)

    return run
