"""The only module that reads environment variables, apart from the command line's own.

TSIM_CACHE           directory for weights and cached embeddings (default: the user's cache)
TSIM_MODEL           default embedding model (default: mpnet+gte)
TSIM_OFFLINE         "1" forbids every download
TSIM_MEMORY          the memory file of `tsim` commands, instead of --memory
TSIM_STORE           the database of `tsim serve` and `tsim keys`, instead of --store
HF_ENDPOINT          base URL of the model hub or a mirror of it
npm_config_registry  base URL of the npm registry (default: what npm is configured to use)
OPENAI_API_KEY       key sent to chat and embedding servers over https, unless another is named
OPENAI_BASE_URL      base URL of chat servers where none is given (default: OpenAI's)

Programs that are started in an environment of their own get PATH, LANG, LC_ALL and
LD_LIBRARY_PATH as they are.

Some are set rather than read: ORT_DISABLE_TELEMETRY for ONNX Runtime, what keeps Ray quiet and to
itself where it is used, and for the processes of a server PROMETHEUS_MULTIPROC_DIR and
OPENBLAS_NUM_THREADS.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tsim.errors import InputError


def cache_dir() -> Path:
    """Returns the directory that holds weights and cached embeddings."""
    override = os.environ.get("TSIM_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("tsim"))


def chosen_model() -> str | None:
    """Returns the name or path of the model that the user has chosen for everything, if any."""
    return os.environ.get("TSIM_MODEL") or None


def default_model() -> str:
    """Returns the name or path of the model used when none is given."""
    return chosen_model() or "mpnet+gte"


def offline() -> bool:
    """Returns whether downloads are forbidden."""
    return os.environ.get("TSIM_OFFLINE", "") not in ("", "0")


def hub_endpoint() -> str:
    """Returns the base URL of the model hub."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def npm_registry() -> str:
    """Returns the base URL of the npm registry, or an empty string if npm's own setting applies."""
    # Like npm, accept the name in any case.
    found = (value for name, value in os.environ.items() if name.lower() == "npm_config_registry")
    return next(found, "").rstrip("/")


def chat_endpoint() -> str:
    """Returns the base URL of the chat server that is asked when none is given."""
    return (os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1").rstrip("/")


def inherited() -> dict[str, str]:
    """Returns the variables that every program needs; none of them is a key or a setting."""
    names = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def disable_telemetry() -> None:
    """Keeps ONNX Runtime from reporting to its maker; only works before it is imported."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def keep_ray_quiet() -> None:
    """Keeps Ray from reporting to its maker; only works before it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # One warning about a default of its next version, for every task.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


def keep_ray_here() -> None:
    """Makes a cluster that Ray starts listen to this machine alone, and to those with its token.

    Otherwise it takes orders from everybody who can reach the machine. Only works before Ray is
    imported.
    """
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


@contextmanager
def for_workers(figures: Path, threads: int) -> Iterator[None]:
    """Sets what processes that are started in the block read when they import libraries.

    Args:
        figures: A directory in which they count together, for Prometheus.
        threads: How many threads NumPy may use in each, unless the user has said so.
    """
    mine = {"PROMETHEUS_MULTIPROC_DIR": str(figures)}
    mine |= {name: str(threads) for name in ("OPENBLAS_NUM_THREADS",) if name not in os.environ}
    before = {name: os.environ.get(name) for name in mine}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def api_key(variable: str) -> str:
    """Returns the API key in an environment variable.

    Raises:
        InputError: The variable is unset or empty.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(
            f"the environment variable {variable} is empty; set it to the API key: "
            f"export {variable}=…"
        )
    return key
