"""`tsim proxy`: a memory between programs and a server with the OpenAI chat API."""

from typing import Annotated

import typer

from tsim.assemble import CONTEXT_BUDGET
from tsim.cli.extras import require_server
from tsim.cli.listening import (
    AllowHost,
    CountedBy,
    Host,
    Port,
    WithKeys,
    keys_needed,
)
from tsim.cli.options import PLACE, Model, Place, PresetName
from tsim.cli.shell import AsJson, print_json, tell
from tsim.errors import ModelError, RemoteError, UnknownModelError
from tsim.ports import address


def proxy(
    upstream: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The server that is asked, up to and including /v1, such as "
            "https://api.openai.com/v1 or http://localhost:11434/v1.",
        ),
    ],
    budget: Annotated[
        int, typer.Option(help="Tokens of what is retrieved of older messages.")
    ] = CONTEXT_BUDGET,
    recent: Annotated[int, typer.Option(help="Messages that are kept at least.")] = 10,
    role: Annotated[
        str,
        typer.Option(
            help="The role of the message with what is retrieved: user, system or developer."
        ),
    ] = "user",
    wait: Annotated[
        float,
        typer.Option(help="Seconds that a request waits for the memory; then it is sent as it is."),
    ] = 5.0,
    usage_field: Annotated[
        bool,
        typer.Option(
            "--usage-field",
            help="Say what was saved in a field of answers, too, and not only in headers.",
        ),
    ] = False,
    at: Place = PLACE,
    host: Host = "127.0.0.1",
    port: Port = 8766,
    allow_host: AllowHost = None,
    keys: WithKeys = False,
    model: Model = None,
    preset: PresetName = None,
    tokens: CountedBy = "estimate",
    as_json: AsJson = False,
) -> None:
    """Give programs a memory by changing their base URL: pass chats on, long ones made short.

    Older messages of a long conversation are replaced by what is relevant in them to the newest
    question. Whatever happens to the memory, requests are answered. The Authorization of a program
    goes to the upstream; a key of the proxy itself, needed as for tsim serve, is sent as
    X-Tsim-Key.

    Example: tsim proxy --upstream https://api.openai.com/v1

    Example: tsim proxy --upstream http://localhost:11434/v1 --budget 2000 --recent 6
    """
    require_server()
    from tsim.embed import open_embedder
    from tsim.proxy.app import create_app
    from tsim.proxy.settings import LIMITS, Proxied
    from tsim.server import running
    from tsim.server.settings import Settings
    from tsim.server.shelves import model_for

    proxied = Proxied(
        upstream=upstream,
        budget=budget,
        recent=recent,
        role=role,
        seconds=wait,
        field=usage_field,
    )
    with_keys = keys_needed(Settings(place=at), host, wanted=keys)
    settings = Settings(
        place=at,
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        model=model,
        preset=preset,
        tokens=tokens,
        keys=with_keys,
        limits=LIMITS,
    )
    embedder = open_embedder(model_for(settings))
    missing = ""
    try:
        embedder.embed_query("ready")
    except UnknownModelError:
        raise
    except (ModelError, RemoteError) as error:
        # Programs are answered without a memory, too, and it is used as soon as it can be.
        missing = str(error)
    app = create_app(settings, proxied, embedder=embedder)
    listening = running.listen(settings)
    url = f"{address(host, listening.getsockname()[1])}/v1"

    def started() -> None:
        if as_json:
            about = {"url": url, "upstream": proxied.shown, "place": str(at), "keys": with_keys}
            print_json({**about, "memory": missing or "ready"})
            return
        if missing:
            tell(f"without a memory until this is mended: {missing}", style="red")
        who = "keys needed" if with_keys else "no keys, this machine"
        tell(f"passing {url} on to {proxied.shown}, remembering in {at} ({who})")
        tell(f"set the base URL of a program to {url} · Ctrl-C stops")

    running.serve(running.make_server(app, settings, started), listening)
