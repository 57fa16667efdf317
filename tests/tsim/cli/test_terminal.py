"""What is printed: names and texts of anybody, which are no markup and cannot act on a terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

from tsim.characters import visible
from tsim.cli.shell import progress_bar, say, show, tell

EVIL = "\x1b[2J\x1b]0;owned\x07 [/red] [bold]x \x9b31m \u202e \x7f \r gone"
ACTING = ("\x1b", "\x07", "\x9b", "\u202e", "\x7f", "\r")


def clean(text):
    return not any(char in text for char in ACTING)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb\tc", "a\\r\nb\tc"),
        ("\x9b\x7f\x00", "\\x9b\\x7f\\x00"),
        ("\u202e\u2066\u2028", "\\u202e\\u2066\\u2028"),
        ("\ud800", "\\ud800"),
        ("naïve 字 👩\u200d🔬 שלום \\x1b", "naïve 字 👩\u200d🔬 שלום \\x1b"),
    ],
)
def test_what_acts_on_a_terminal_is_shown_instead(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "command",
    [
        ("turns", "--thread", "[/red]"),
        ("turns", "--thread", "[/red]", "--json"),
        ("threads",),
        ("search", "gone", "--thread", "[/red]", "--min-relevance", "0"),
        ("search", "gone", "--thread", "[/red]", "--min-relevance", "0", "--json"),
        ("search", EVIL, "--thread", "[/red]", "--min-relevance", "1"),
        ("episodes", "--thread", "[/red]"),
        ("context", "gone", "--thread", "[/red]", "--json"),
        ("forget", "--thread", "[/red]", "--whole-thread"),
        ("forget", "--thread", "[/red]", "--turn", "99"),
        ("doctor",),
        ("turns", "--thread", EVIL),
        ("search", "gone", "--thread", EVIL),
        ("models", "path", EVIL),
        ("add", f"missing{EVIL}"),
        ("add", "bad.jsonl"),
        ("import", f"missing{EVIL}"),
        ("export", f"missing/{EVIL}"),
        ("backup", f"missing/{EVIL}"),
        ("threads", "--memory", f"missing{EVIL}"),
        ("search", "x", "--tokens", EVIL),
        ("search", "x", "--preset", EVIL),
        ("search", "x", "--since", EVIL),
        ("search", "x", "--meta", EVIL),
        ("search", "x", "--meta", f"deep={'[' * 100_000}"),
        ("search", "x", "--since", "1719744800\x1c"),
    ],
)
def test_no_command_takes_texts_or_names_for_anything_else(inside, tmp_path, command):
    log = {"role": "[/red] user", "content": EVIL}
    (tmp_path / "chat.jsonl").write_text(json.dumps(log))
    (tmp_path / "bad.jsonl").write_text(json.dumps({"role": EVIL, "content": EVIL}))
    assert inside("add", "chat.jsonl", "--thread", "[/red]").returncode == 0
    ran = inside(*command)
    assert ran.returncode in (0, 1)
    assert clean(ran.stdout)
    assert clean(ran.stderr)
    assert "Traceback" not in ran.stderr
    if command[0] == "turns" and "[/red]" in command:
        assert "[/red] user" in ran.stdout


def test_a_context_is_whole_in_a_pipe_and_harmless_on_a_terminal(tsim, tiny, tmp_path):
    tsim("add", "--text", EVIL)
    asked = ("context", "gone", "--min-relevance", "0")
    assert "\x1b[2J" in tsim(*asked).stdout
    mine, theirs = pty.openpty()
    command = [sys.executable, "-c", "from tsim.cli.app import main; main()", *asked]
    env = {**os.environ, "TSIM_CACHE": str(tmp_path / "cache"), "TSIM_MODEL": str(tiny)}
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=env, cwd=tmp_path
    ) as ran:
        assert ran.wait() == 0
    os.close(theirs)
    shown = os.read(mine, 10_000)
    os.close(mine)
    assert b"\\x1b[2J" in shown
    assert b"\x1b" not in shown


def test_labels_of_progress_are_no_markup(capsys):
    with progress_bar(EVIL) as advance:
        advance(1, 2)
    say(EVIL, "[/red]")
    tell(EVIL)
    show(EVIL)
    printed = capsys.readouterr()
    assert clean(printed.out)
    assert clean(printed.err)
    assert printed.out.count("[/red] [bold]x") == 2


def test_errors_do_not_show_the_credentials_of_an_address(inside):
    inside("add", "--text", "hello")
    for more in ((), ("--json",)):
        ran = inside("search", "x", "--model", "http://me:hunter2@127.0.0.1:9/v1", *more)
        assert ran.returncode == 1
        assert "127.0.0.1:9" in ran.stdout + ran.stderr
        assert "hunter2" not in ran.stdout + ran.stderr
