"""The directory of an audit: its plan, and the address by which it was served last."""

from pathlib import Path

from pydantic import ValidationError

from scaleqa.audit.items import VERSION, Plan
from scaleqa.errors import DataError
from tsim import private, unfinished

PLAN = "plan.json"
ADDRESS = "address.txt"
RATINGS = "ratings.jsonl"


def write_plan(plan: Plan, directory: Path) -> Path:
    """Writes a plan into a new or empty directory.

    Raises:
        DataError: Another plan is there; its ratings would lose their meaning.
    """
    path = directory / PLAN
    content = plan.model_dump_json(indent=1, exclude_defaults=True) + "\n"
    if path.exists():
        if path.read_bytes() == content.encode():
            return path
        raise DataError(
            f"{directory} has another plan; name another --out, or remove it with its ratings"
        )
    private.make_directory(directory)
    with unfinished.replacing(path) as part:
        part.file.write(content.encode())
    return path


def read_plan(directory: Path) -> Plan:
    """Reads the plan of an audit.

    Raises:
        DataError: There is none, or it is damaged.
    """
    path = directory / PLAN
    if not path.is_file():
        raise DataError(
            f"{directory} holds no {PLAN}; make one with: scaleqa audit plan --out {directory}"
        )
    try:
        return Plan.model_validate_json(path.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise DataError(
            f"{path} is no plan of version {VERSION} ({where or 'the file'}: {problem['msg']}); "
            "put back the file as it was written"
        ) from None


def keep_address(directory: Path, url: str) -> None:
    """Keeps the address by which raters reach an audit, for the links that are made next."""
    with unfinished.replacing(directory / ADDRESS) as part:
        part.file.write(f"{url}\n".encode())


def kept_address(directory: Path) -> str | None:
    """Returns the address by which an audit was served last, if it was."""
    path = directory / ADDRESS
    return path.read_text("utf-8", "replace").strip() if path.is_file() else None
