"""Output, progress and error handling shared by all commands of this repository.

Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 wrong usage,
3 done except for input that could not be read, 4 stopped by a budget, 130 interrupted. With --json
an error is printed as {"error": {"kind": …, "message": …}}.

Commands print through this module alone: names and texts come from anywhere, so they are never
taken for markup, cannot act on the terminal, and show no credentials of URLs in errors.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from tsim import private
from tsim.characters import ACTING, visible
from tsim.credentials import without_credentials
from tsim.errors import TsimError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class PlainConsole(Console):
    """Shows strings as they are, whatever they look like."""

    def render_str(self, text: str, **_: Any) -> Text:
        """Returns a string as text, without markup."""
        return Text(visible(text))


stderr = PlainConsole(stderr=True, highlight=False)


def say(*words: object) -> None:
    """Prints a line on stdout."""
    print(visible(" ".join(map(str, words))))


def hand_over(text: str) -> None:
    """Prints text that is meant for a program: unchanged, unless a terminal would show it."""
    print(visible(text) if sys.stdout.isatty() else text)


def show(table: RenderableType) -> None:
    """Prints a table, whose cells are strings, on stdout."""
    PlainConsole().print(table)


def tell(text: str, style: str | None = None) -> None:
    """Says something on stderr."""
    stderr.print(Text(visible(text)), style=style, soft_wrap=True)


def print_json(value: Any) -> None:
    """Prints a value as JSON on stdout; what acts on terminals is escaped, as JSON allows."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    print(ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


@contextmanager
def progress_bar(label: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Shows a progress bar with an ETA on stderr; yields a function of (done, total).

    There is no bar before there is something to count.
    """
    unit: ProgressColumn = DownloadColumn() if in_bytes else MofNCompleteColumn()
    name = TextColumn("{task.description}", markup=False)
    bar = Progress(name, BarColumn(), unit, TimeRemainingColumn(), console=stderr)
    task = bar.add_task(visible(label), total=None)

    def report(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if total:
            bar.start()

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()


def failed(error: Exception, *, as_json: bool) -> Exception:
    """Returns the exception to raise after printing a result that means failure.

    With --json the printed result already describes the failure, and a second object on stdout
    would make the output invalid JSON.
    """
    return typer.Exit(1) if as_json else error


def run(app: typer.Typer, program: str, failures: tuple[type[Exception], ...] = ()) -> None:
    """Runs a command line and converts its errors to messages and exit codes.

    Args:
        app: The commands.
        program: Name shown before messages.
        failures: Exceptions to report in addition to `TsimError`; each has a `kind`, and may have
            an `exit_code`.
    """
    reported: tuple[type[Exception], ...] = (TsimError, *failures)
    try:
        with private.by_default():
            app()
    except reported as error:
        code = getattr(error, "exit_code", 1)
        _fail(program, getattr(error, "kind", "error"), str(error), code)
    except OSError as error:
        # What a user named cannot be read or written; everything else is handled where it happens.
        _fail(program, "bad_file", f"{error.filename or 'a file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        tell("interrupted")
        sys.exit(130)


def _fail(program: str, kind: str, message: str, code: int = 1) -> NoReturn:
    shown = without_credentials(message)
    if "--json" in sys.argv:
        print_json({"error": {"kind": kind, "message": shown}})
    else:
        tell(f"{program}: {shown}", style="red")
    sys.exit(code)
