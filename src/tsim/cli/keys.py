"""`tsim keys`: who may use a server, and what was done with their keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from tsim.arguments import positive
from tsim.cli.extras import require_server
from tsim.cli.options import PLACE, Database, Place
from tsim.cli.shell import AsJson, failed, print_json, say, show, tell
from tsim.errors import InputError, StoreError
from tsim.server.access import ANY, Scope
from tsim.server.settings import Settings
from tsim.store import shown
from tsim.times import ahead, seconds

if TYPE_CHECKING:
    from tsim.server.access.gate import Access
    from tsim.server.access.keys import Key

app = typer.Typer(no_args_is_help=True, help="Keys of a server: create, list, revoke, audit.")

SHOWN = 20


@app.command()
def create(
    at: Place = PLACE,
    store: Database = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            help="The only namespace that the key is for; '*' for all.",
            show_default="the one of requests that name none",
        ),
    ] = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(help="What the key is for; may be repeated.", show_default="read, write"),
    ] = None,
    label: Annotated[str, typer.Option(help="A note about who has the key.")] = "",
    expires: Annotated[
        str | None,
        typer.Option(
            help="When it ends: 90d, 12h or 2w from now, or an ISO date or time (UTC unless it "
            "says otherwise).",
            show_default="never",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it. It is shown this once; only a hash of it is kept.

    Example: tsim keys create --namespace alice --label laptop --expires 90d

    Example: tsim keys create --namespace '*' --scope read --scope admin
    """
    require_server()
    from tsim.server.access.keys import new_key

    settings, now = Settings(place=at, store=store), datetime.now(UTC)
    key = new_key(
        namespace=_namespace(settings, namespace),
        scopes=scope or [Scope.READ, Scope.WRITE],
        label=label,
        expires=None if expires is None else seconds(ahead(expires, now), "expires"),
        now=now.timestamp(),
    )
    with _opened(settings, new=True) as access:
        token = access.add(key)
    if as_json:
        print_json({"key": token, **_described(key)})
        return
    tell(
        f"key {key.id} for {_where(key)} ({_scopes(key)}) in {shown_access(settings)}, until "
        f"{_time(key.expires) or 'it is revoked'}; it is shown this once:"
    )
    say(token)


@app.command("list")
def list_keys(at: Place = PLACE, store: Database = None, as_json: AsJson = False) -> None:
    """List the keys, also those that have expired or were revoked.

    Example: tsim keys list --at memories
    """
    with _opened(Settings(place=at, store=store)) as access:
        found = access.keys()
    if as_json:
        print_json([_described(key) for key in found])
        return
    table = Table("id", "namespace", "scopes", "label", "created", "state")
    table.columns[0].no_wrap = True  # an id cut short cannot be used
    table.columns[3].overflow = "fold"
    for key in found:
        created = _time(key.created)
        table.add_row(key.id, key.namespace or ANY, _scopes(key), key.label, created, _state(key))
    show(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id of the key, as listed.")],
    at: Place = PLACE,
    store: Database = None,
    as_json: AsJson = False,
) -> None:
    """End a key at once, also for a server that is running.

    Example: tsim keys revoke 3f9c0a71b2d4
    """
    with _opened(Settings(place=at, store=store)) as access:
        key = access.revoke(key_id)
    if as_json:
        print_json(_described(key))
    else:
        say(f"key {key.id} is revoked since {_time(key.revoked)}")


@app.command()
def audit(
    at: Place = PLACE,
    store: Database = None,
    after: Annotated[
        int | None,
        typer.Option(help="Only lines with higher numbers.", show_default="the last lines"),
    ] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of lines.")] = SHOWN,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the whole log instead of listing it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what was done with keys: forgetting, exports, backups, and keys themselves.

    Every line has a hash over itself and the line before, so that changes show. To notice also
    that the end was cut off, keep the last hash, which --verify prints, somewhere else.

    Example: tsim keys audit --limit 50

    Example: tsim keys audit --verify
    """
    positive(limit=limit)
    with _opened(Settings(place=at, store=store)) as access:
        if verify:
            _verify(access, as_json)
            return
        last, _ = access.audit_head()
        found = access.audit(after=max(0, last - limit) if after is None else after, limit=limit)
    if as_json:
        print_json([asdict(entry) for entry in found])
        return
    table = Table("line", "time (UTC)", "key", "action", "namespace", "about")
    table.columns[-1].overflow = "fold"
    for entry in found:
        about = ", ".join(f"{name}={value}" for name, value in entry.about.items())
        row = (_time(entry.at), entry.key, entry.action, entry.namespace, about)
        table.add_row(str(entry.number), *row)
    show(table)
    if found and found[-1].number < last:
        say(f"there are more; continue with --after {found[-1].number}")


def _verify(access: "Access", as_json: bool) -> None:
    problems = access.audit_problems()
    lines, last = access.audit_head()
    if as_json:
        print_json({"lines": lines, "hash": last, "problems": problems})
    else:
        for problem in problems:
            say(problem)
        if not problems:
            many = "1 line, as it was" if lines == 1 else f"{lines} lines, as they were"
            say(f"{many} written; hash of the last: {last}")
    if problems:
        raise failed(StoreError(f"the audit log has {len(problems)} problems"), as_json=as_json)


def has_keys(settings: Settings) -> bool:
    """Returns whether there is a place of keys; a database has one, or gets it."""
    return not isinstance(settings.access, Path) or settings.access.is_file()


def shown_access(settings: Settings) -> str:
    """Returns where the keys are, as it may be shown."""
    return shown_store(settings.store) if settings.store else str(settings.access)


def shown_store(store: str) -> str:
    """Returns the address of a database as it may be shown."""
    return shown(store).partition("#")[0]


@contextmanager
def _opened(settings: Settings, *, new: bool = False) -> Iterator["Access"]:
    require_server()
    from tsim.server.access.gate import Access

    if not new and not has_keys(settings):
        raise InputError(
            f"{shown_access(settings)} does not exist: {settings.place} has no keys yet; make one "
            "with tsim keys create, or pass the server's directory with --at"
        )
    with Access(settings.access) as access:
        yield access


def _namespace(settings: Settings, name: str | None) -> str | None:
    if name == ANY:
        return None
    if name is not None and settings.only not in (None, name):
        raise InputError(f"{settings.place} has only the namespace {settings.only}, found {name}")
    return name or settings.default


def _described(key: "Key") -> dict[str, Any]:
    return {**asdict(key), "scopes": sorted(key.scopes), "state": _state(key)}


def _where(key: "Key") -> str:
    return "all namespaces" if key.namespace is None else f"namespace {key.namespace}"


def _scopes(key: "Key") -> str:
    return ", ".join(sorted(key.scopes))


def _state(key: "Key") -> str:
    if key.revoked is not None:
        return f"revoked {_time(key.revoked)}"
    if key.expires is None:
        return "valid"
    word = "valid until" if key.valid(datetime.now(UTC).timestamp()) else "expired"
    return f"{word} {_time(key.expires)}"


def _time(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(" ")[:16]
