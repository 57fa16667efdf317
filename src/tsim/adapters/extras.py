"""Says what to install, where a framework is missing."""

from importlib.util import find_spec


def require(package: str, *, extra: str) -> None:
    """Checks that a framework is installed, without loading it.

    Raises:
        ModuleNotFoundError: It is not.
    """
    if find_spec(package) is None:
        raise ModuleNotFoundError(
            f"this adapter needs {package}, which is not installed; run: pip install "
            f"'tsim-memory[{extra}]'",
            name=package,
        )
