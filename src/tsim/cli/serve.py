"""`tsim serve`: memories over HTTP."""

from typing import Annotated

import typer

from tsim.arguments import positive
from tsim.cli.extras import require_server
from tsim.cli.keys import has_keys, shown_access, shown_store
from tsim.cli.options import PLACE, Database, Model, Place, PresetName
from tsim.cli.shell import AsJson, print_json, tell
from tsim.errors import InputError
from tsim.server.settings import Settings, is_loopback


def serve(
    at: Place = PLACE,
    store: Database = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for a free one.")] = 8765,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which clients address the server; may be repeated."),
    ] = None,
    keys: Annotated[
        bool, typer.Option("--keys", help="Refuse to start without keys, also on loopback.")
    ] = False,
    model: Model = None,
    preset: PresetName = None,
    tokens: Annotated[
        str, typer.Option(help="What counts the tokens of budgets, as for tsim context.")
    ] = "estimate",
    workers: Annotated[
        int, typer.Option(help="Processes that answer: one for each core that they may use.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Serve memories over HTTP: REST, MCP and the inspector.

    Without keys, only this machine is served. As soon as there is a key (tsim keys create), every
    request needs one, also to a server that runs.

    Example: tsim serve

    Example: tsim serve --at /srv/memories --host 0.0.0.0 --allow-host memory.example.org

    Example: tsim serve --workers 4

    Example: tsim serve --store postgresql://tsim@db.example.org/memories
    """
    require_server()
    from tsim.server.access.gate import Access
    from tsim.server.app import open_app
    from tsim.server.processes.starting import run

    positive(workers=workers)
    there = Settings(place=at, store=store)
    with_keys, valid = keys, False
    if has_keys(there):
        with Access(there.access) as access:
            with_keys = with_keys or access.locked()
            valid = access.usable()
    if (with_keys or not is_loopback(host)) and not valid:
        where = "--store ADDRESS" if store else f"--at {at}"
        raise InputError(
            f"there is no valid key in {shown_access(there)}; make one with: tsim keys create "
            f"{where}"
        )
    settings = Settings(
        place=at,
        store=store,
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        model=model,
        preset=preset,
        tokens=tokens,
        keys=with_keys,
    )
    place = shown_store(store) if store else str(at)
    new = " (new)" if not store and not at.exists() else ""
    name = f"[{host}]" if ":" in host else host

    def started(port: int) -> None:
        url = f"http://{name}:{port}"
        if as_json:
            print_json({"url": url, "place": place, "keys": with_keys, "workers": workers})
            return
        who = "keys needed" if with_keys else "no keys, this machine"
        tell(f"serving {place}{new} on {url} ({who})")
        tell(f"inspector {url}/inspector · API {url}/docs · MCP {url}/mcp · Ctrl-C stops")

    run(open_app, settings, processes=workers, started=started)
