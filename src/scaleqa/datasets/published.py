"""Reading data sets of others from the files that they publish."""

import hashlib
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from scaleqa.errors import DataError
from tsim import gzipped
from tsim.errors import InputError

# Bytes that a gzipped file may unpack to; the largest that is published has 2.7 billion.
MOST_BYTES = 1 << 32
Content = TypeVar("Content")


def read_published(
    path: Path, form: TypeAdapter[Content], *, of: str, files: str
) -> tuple[Content, str]:
    """Reads a file in its published format, plain or gzipped.

    Args:
        path: The file.
        form: The published format.
        of: Name of the data set, for messages.
        files: What its files are called, for messages.

    Returns:
        The content, and the sha256 of the uncompressed JSON.

    Raises:
        DataError: The file is missing or has another format.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror}); expected {of}'s {files}, plain or .gz"
        ) from None
    try:
        if content.startswith(gzipped.MAGIC):
            content = gzipped.unpacking(BytesIO(content), most=MOST_BYTES).read()
        return form.validate_json(content), hashlib.sha256(content).hexdigest()
    except (ValidationError, InputError) as error:
        raise DataError(f"{path} is not {of} as published: {_first(error)}") from None


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        one = error.errors()[0]
        place = ".".join(str(part) for part in one["loc"])
        return f"{place or 'the file'}: {one['msg']} ({error.error_count()} problems in total)"
    return str(error)
