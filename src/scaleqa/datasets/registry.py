"""Finding data sets by name, built-in and third-party alike."""

from pathlib import Path
from typing import Any

from scaleqa import plugins
from scaleqa.datasets.protocol import DataSet, DataSetDeclaration
from scaleqa.errors import DataError, ScaleqaError
from scaleqa.packages import Package, check_packages, load_packages
from scaleqa.specs import Spec
from tsim.errors import TsimError

GROUP = "scaleqa.datasets"


def dataset_names() -> list[str]:
    """Returns the names of all registered data sets."""
    return [*plugins.points(GROUP)]


def find_dataset(name: str) -> DataSetDeclaration[Any]:
    """Returns the data set with the given name, or from `FILE.py:ATTRIBUTE`.

    Raises:
        DataError: There is no such data set, or it cannot be loaded.
    """
    found = plugins.load(GROUP, name, "data set")
    if not isinstance(found, DataSetDeclaration):
        raise DataError(f"data set {name!r} is {found!r}; expected a DataSetDeclaration")
    return found


def open_dataset(spec: str) -> DataSet:
    """Opens a data set from `name` or `name:key=value,key=value`.

    Raises:
        DataError: There is no such data set, or an option is invalid.
    """
    parsed = Spec.parse(spec)
    return find_dataset(parsed.name).open(parsed.options)


def open_threads(where: str) -> list[Package]:
    """Loads packages from a directory, or builds those of a data set.

    Args:
        where: A package, a directory of packages, or a data set: `name:key=value,key=value`.

    Raises:
        DataError: The argument is neither, or the packages cannot be used.
    """
    path = Path(where)
    if path.exists():
        return load_packages(path)
    name = Spec.parse(where).name
    if name in dataset_names() or name != where or ".py:" in name:
        return _threads(open_dataset(where))
    raise DataError(
        f"{where} is neither a directory of packages nor a data set "
        f"({', '.join(dataset_names())}); build packages with: scaleqa build --out {where}"
    )


def _threads(dataset: DataSet) -> list[Package]:
    """Returns the threads of a data set that hold together.

    Raises:
        DataError: It fails, or its packages cannot be measured on.
    """
    try:
        packages = dataset.threads()
    except (ScaleqaError, TsimError):
        raise
    except Exception as error:
        raise DataError(
            f"data set {dataset.name} fails: {type(error).__name__}: {error}"
        ) from error
    check_packages(packages)
    return packages
