"""The documentation: commands run as printed, names exist, links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import scaleqa.cli.app
import tsim.cli.app
from scaleqa.reproduce import TABLES
from tests.conftest import ROOT
from tests.support.served import served
from tests.support.servers import JsonServer, completion, serving

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
APPS = {
    "tsim": typer.main.get_command(tsim.cli.app.app),
    "scaleqa": typer.main.get_command(scaleqa.cli.app.app),
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`((?:scaleqa|tsim) [^`]+)`")


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text("utf-8")) if name == language]


def plain(line: str) -> str:
    """A line of a shell block without its comment, and without what its output goes to."""
    return re.sub(r"\s+(#|\||>)\s.*", "", line).strip()


def printed() -> list[tuple[str, str]]:
    """Every command that a page prints, in a block or inside a sentence."""
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        lines = [plain(one) for block in blocks(page, "sh") for one in block.splitlines()]
        commands = [one for one in lines if one.split(" ")[0] in APPS]
        commands += [one for one in INLINE.findall(BLOCK.sub("", text)) if "|" not in one]
        found += [(page.name, command) for command in commands]
    return found


# A sentence may name a command without all that it needs, or its help.
ALLOWED = {"MissingParameter", "NoArgsIsHelpError", "Exit"}


def parse(line: str) -> None:
    """Finds the command and checks its options, as the shell would, without running it."""
    program, *words = shlex.split(line)
    command = APPS[program]
    context = command.context_class(command, info_name=program)
    while hasattr(command, "commands"):
        if not words or words == ["--help"]:
            return
        name, command, words = command.resolve_command(context, words)
        context = command.context_class(command, info_name=name, parent=context)
    try:
        command.parse_args(context, [*words])
    except Exception as error:
        if type(error).__name__ not in ALLOWED:  # typer keeps the classes of errors to itself
            raise


@pytest.mark.parametrize(("page", "line"), printed())
def test_every_command_that_is_printed_exists_with_its_options(page, line):
    parse(line)


def test_the_check_of_commands_fails_where_it_should():
    for wrong in ("scaleqa retrive packages", "scaleqa run packages --sytem tsim", "tsim nothing"):
        with pytest.raises(Exception, match="No such"):
            parse(wrong)


def environment(**more: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return {**kept, "PATH": path, **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.name
)
def test_shell_blocks_run_as_printed(page, tmp_path, minilm):
    """In order, in one directory, against a local server in place of the provider's."""
    reply = completion("ANSWER: A\nRATIONALE: the rule says so")
    with serving(JsonServer(lambda _: reply)) as server:
        for block in blocks(page, "sh"):
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=tmp_path,
                env=environment(OPENAI_BASE_URL=server.url),
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, f"{block}\n{ran.stdout}\n{ran.stderr}"
    if page.name == "README.md":
        assert "SCALE-QA report" in (tmp_path / "report.html").read_text("utf-8")
        assert server.seen
        assert (tmp_path / "runs" / "reproduce" / "episodes.md").is_file()


@pytest.mark.slow
def test_python_in_the_readme_runs_as_printed(tmp_path, minilm):
    for block in blocks(ROOT / "README.md", "python"):
        ran = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "one consumer GPU" in ran.stdout


# What the pages on single subjects take for granted: a memory with threads, and a question.
GIVEN = """
from datetime import UTC, datetime
from pathlib import Path
from tsim import Memory
Path("chat.json").write_text('[{"role": "user", "content": "hello"}]')
memory = Memory.open("memory.db")
for name in ("alice", "team"):
    memory.thread(name).add("user", "One consumer GPU.", at=datetime(2024, 5, 3, tzinfo=UTC))
thread, question = memory.thread("alice"), "Which GPU?"
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["integrations.md", "logs.md", "memory.md", "time.md"])
def test_python_in_the_pages_runs_as_printed(name, tmp_path, minilm):
    again = 'memory = Memory.open("memory.db"); thread = memory.thread("alice")'  # closed by some
    found = blocks(ROOT / "docs" / name, "python")
    program = "\n".join([GIVEN, *(f"{block}\n{again}" for block in found)])
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert found


def test_every_environment_variable_is_documented():
    before = r"(?:environ(?:\.get)?[(\[]\s*|KEY_VARIABLE = |envvar=)"
    read = re.compile(before + r"""["']([A-Z][A-Z_]+)["']""")
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    named = {name for file in sources for name in read.findall(file.read_text("utf-8"))}
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    ours = {name for name in named if name.startswith(("TSIM_", "OPENAI_", "HF_"))}
    assert len(ours) >= 6
    assert {name for name in ours if f"`{name}`" not in text} == set()


def test_every_table_that_can_be_reproduced_is_documented():
    text = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
    assert [name for name in TABLES if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_tree_in_the_architecture_is_the_tree():
    """Every path that is named exists, and every module on the upper two floors is named."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for package in ("tsim", "scaleqa"):
        tree = re.search(rf"^src/{package}/\n(.*?)^```", text, re.M | re.S)[1]
        folders = [ROOT / "src" / package]
        for line in tree.splitlines():
            indent = (len(line) - len(line.lstrip())) // 2
            names = re.match(r"\s*((?:[\w.]+(?:/|\.py)\s\s?)+)", f"{line}  ")[1].split()
            del folders[indent:]
            for name in names:
                assert (folders[-1] / name).exists(), f"{folders[-1] / name} is not there"
            folders.append(folders[-1] / names[0])


@pytest.mark.slow
def test_the_assistant_of_the_server_page_runs_as_printed(tmp_path, minilm):
    """Against a real server, and a local one in place of the provider's."""
    (program,) = blocks(ROOT / "docs" / "server.md", "python")
    replies = JsonServer(lambda body: completion(f"{len(body['messages'])} messages"))
    with served(tmp_path / "memories", embedder=minilm) as url, serving(replies) as provider:
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=environment(OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="none", TSIM_URL=url),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["2 messages", "4 messages"]
    assert "one consumer GPU" in provider.seen[1]["messages"][0]["content"]


@pytest.mark.slow
def test_python_in_the_client_page_runs_as_printed(tmp_path, minilm):
    found = blocks(ROOT / "docs" / "client.md", "python")
    with served(tmp_path / "memories", embedder=minilm) as url:
        for block in found:
            program = block.replace("http://127.0.0.1:8765", url)
            ran = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
            assert "one consumer GPU" in ran.stdout or "Lisbon" in ran.stdout
    assert len(found) == 2
