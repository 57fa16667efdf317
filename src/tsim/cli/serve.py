"""`tsim serve`: memories over HTTP."""

from tsim.cli.extras import require_server
from tsim.cli.listening import (
    AllowHost,
    CountedBy,
    Host,
    Port,
    WithKeys,
    address,
    keys_needed,
)
from tsim.cli.options import PLACE, Model, Place, PresetName
from tsim.cli.shell import AsJson, print_json, tell
from tsim.server.settings import Settings


def serve(
    at: Place = PLACE,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    allow_host: AllowHost = None,
    keys: WithKeys = False,
    model: Model = None,
    preset: PresetName = None,
    tokens: CountedBy = "estimate",
    as_json: AsJson = False,
) -> None:
    """Serve memories over HTTP: REST, MCP and the inspector.

    Without keys, only this machine is served. As soon as there is a key (tsim keys create), every
    request needs one, also to a server that runs.

    Example: tsim serve

    Example: tsim serve --at /srv/memories --host 0.0.0.0 --allow-host memory.example.org
    """
    require_server()
    from tsim.embed import open_embedder
    from tsim.server import running
    from tsim.server.app import create_app

    with_keys = keys_needed(at, host, wanted=keys)
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
    # Before anything is made: a model that cannot be used should not be served.
    embedder = open_embedder(model)
    embedder.embed_query("ready")
    app = create_app(settings, embedder=embedder)
    listening = running.listen(settings)
    url = address(host, listening.getsockname()[1])

    def started() -> None:
        if as_json:
            print_json({"url": url, "place": str(at), "keys": with_keys})
            return
        who = "keys needed" if with_keys else "no keys, this machine"
        tell(f"serving {at}{new} on {url} ({who})")
        tell(f"inspector {url}/inspector · API {url}/docs · MCP {url}/mcp · Ctrl-C stops")

    running.serve(running.make_server(app, settings, started), listening)
