"""How the adapter of a product is started, and what its process may know and reach."""

from collections.abc import Mapping
from pathlib import Path

from scaleqa.products.product import ADAPTERS, Product

# Nothing listens there: whatever respects proxies reaches this machine alone.
NOWHERE = "http://127.0.0.1:9"
OFFLINE = {
    "HTTP_PROXY": NOWHERE,
    "HTTPS_PROXY": NOWHERE,
    "ALL_PROXY": NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # Those who agreed on a name for it.
    "DO_NOT_TRACK": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
}


def command(product: Product, python: Path | str) -> tuple[str, ...]:
    """Returns the command that starts a product's adapter with an interpreter.

    -P: the directory of adapters is not on the path, where `mem0.py` would hide the package mem0.
    """
    main = ADAPTERS / "__main__.py"
    return (str(python), "-P", str(main), product.name, product.package)


def variables(product: Product, directory: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables of a product that runs in a directory.

    Nothing of the user's is in it, neither keys nor settings; the home directory and the place for
    temporary files are those of the run.

    Args:
        product: The product.
        directory: Where it runs.
        inherited: Variables that every program needs, such as PATH.
    """
    own = str(directory)
    return {**inherited, **OFFLINE, **product.variables, "HOME": own, "TMPDIR": own}
