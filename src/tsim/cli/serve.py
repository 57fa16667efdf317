"""`tsim serve`: memories over HTTP."""

from typing import Annotated

import typer

from tsim.arguments import positive
from tsim.cli.extras import require_server
from tsim.cli.options import PLACE, Model, Place, PresetName
from tsim.cli.shell import AsJson, print_json, tell
from tsim.errors import InputError
from tsim.server.settings import Settings, is_loopback


def serve(
    at: Place = PLACE,
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
    """
    require_server()
    from tsim.server.access.gate import Access
    from tsim.server.app import open_app
    from tsim.server.processes.starting import run

    positive(workers=workers)
    there = Settings(place=at)
    with_keys = keys
    if there.access.is_file():
        with Access(there.access) as access:
            with_keys = with_keys or bool(access.keys())
            valid = access.usable()
    else:
        valid = False
    if (with_keys or not is_loopback(host)) and not valid:
        raise InputError(
            f"there is no valid key in {there.access}; make one with: tsim keys create --at {at}"
        )
    settings = Settings(
        place=at,
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        model=model,
        preset=preset,
        tokens=tokens,
        keys=with_keys,
    )
    new = " (new)" if not at.exists() else ""
    name = f"[{host}]" if ":" in host else host

    def started(port: int) -> None:
        url = f"http://{name}:{port}"
        if as_json:
            print_json({"url": url, "place": str(at), "keys": with_keys, "workers": workers})
            return
        who = "keys needed" if with_keys else "no keys, this machine"
        tell(f"serving {at}{new} on {url} ({who})")
        tell(f"inspector {url}/inspector · API {url}/docs · MCP {url}/mcp · Ctrl-C stops")

    run(open_app, settings, processes=workers, started=started)
