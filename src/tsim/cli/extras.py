"""What commands need that is not installed with the rest."""

from importlib.util import find_spec

from tsim.errors import InputError

# Modules of the extra `server`.
SERVER = ("argon2", "fastapi", "httptools", "jinja2", "mcp", "prometheus_client", "uvicorn")


def require_server() -> None:
    """Checks that what a server needs is installed, without loading it.

    Raises:
        InputError: Something is missing.
    """
    missing = [name for name in SERVER if find_spec(name) is None]
    if missing:
        raise InputError(
            f"this needs the extra server, of which {', '.join(missing)} cannot be found; run: "
            "pip install 'tsim-memory[server]'"
        )
