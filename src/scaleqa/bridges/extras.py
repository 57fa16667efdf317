"""What bridges need that is not installed with the rest."""

from importlib.util import find_spec

from scaleqa.errors import DataError

# The module that each extra is there for.
MODULES = {"huggingface": "pyarrow", "inspect": "inspect_ai"}


def require(extra: str) -> None:
    """Checks that what an extra provides is installed, without loading it.

    Raises:
        DataError: It is not.
    """
    module = MODULES[extra]
    if find_spec(module) is None:
        raise DataError(
            f"this needs {module}, which is not installed; run: pip install 'scaleqa[{extra}]'"
        )
