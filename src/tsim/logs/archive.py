"""Data exports that come as zip archives: the conversations in them."""

import io
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator

from tsim.errors import InputError
from tsim.logs.jsonfile import parse

MAGIC = b"PK\x03\x04"
# ChatGPT's and Claude's exports; ChatGPT divides large ones: conversations-000.json.
CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")


# What Python's library raises for archives that are damaged, locked or packed in another way.
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(ValueError, RuntimeError, EOFError, OSError),
)


def conversations(packed: bytes, *, most: int) -> bytes:
    """Returns the conversations of an export as one JSON document.

    Args:
        packed: The archive.
        most: How many bytes they may unpack to.

    Raises:
        InputError: There are none, the archive is damaged or locked, or they unpack to more.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            found = [*_members(archive, most)]
    except DAMAGED as error:
        raise InputError(f"the zip archive is damaged or cannot be unpacked ({error})") from error
    if len(found) == 1:
        return found[0]
    return json.dumps([one for data in found for one in _listed(data)]).encode()


def _members(archive: zipfile.ZipFile, most: int) -> Iterator[bytes]:
    names = sorted(name for name in archive.namelist() if CONVERSATIONS.fullmatch(name))
    if not names:
        held = ", ".join(archive.namelist()[:5]) or "nothing"
        raise InputError(
            f"found a zip archive with {held:.200}, expected one with conversations.json, as "
            "ChatGPT and Claude export it; otherwise unpack it and pass the file inside"
        )
    left = most
    for name in names:
        # What an archive says about sizes may be wrong: no more than that is read.
        with archive.open(name) as member:
            data = member.read(left + 1)
        left -= len(data)
        if left < 0:
            raise InputError(
                f"{name} unpacks to more than {most:,} bytes; if that is what you expect, unpack "
                "it and pass the file inside"
            )
        yield data


def _listed(data: bytes) -> list[object]:
    try:
        value = parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})") from error
    return value if isinstance(value, list) else [value]
