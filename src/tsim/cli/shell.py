"""Output, progress and error handling shared by all commands of this repository.

Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 wrong usage,
3 done except for input that could not be read, 130 interrupted. With --json an error is printed as
{"error": {"kind": …, "message": …}}.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from tsim import private
from tsim.errors import TsimError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

stderr = Console(stderr=True, highlight=False)


def tell(text: str) -> None:
    """Says something on stderr."""
    stderr.print(text, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Prints a value as JSON on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


@contextmanager
def progress_bar(label: str, *, in_bytes: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Shows a progress bar with an ETA on stderr; yields a function of (done, total)."""
    unit: ProgressColumn = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), unit, TimeRemainingColumn())
    with Progress(*columns, console=stderr) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
        failures: Exceptions to report in addition to `TsimError`; each has a `kind`.
    """
    reported: tuple[type[Exception], ...] = (TsimError, *failures)
    try:
        with private.by_default():
            app()
    except reported as error:
        _fail(program, getattr(error, "kind", "error"), str(error))
    except OSError as error:
        # What a user named cannot be read or written; everything else is handled where it happens.
        _fail(program, "bad_file", f"{error.filename or 'a file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        stderr.print("interrupted")
        sys.exit(130)


def _fail(program: str, kind: str, message: str) -> NoReturn:
    if "--json" in sys.argv:
        print_json({"error": {"kind": kind, "message": message}})
    else:
        stderr.print(f"{program}: {message}", style="red", markup=False, soft_wrap=True)
    sys.exit(1)
