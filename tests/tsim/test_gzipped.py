"""A gzipped file unpacks to no more than expected, whatever it holds."""

import gzip
import io

import pytest

from tsim.errors import InputError
from tsim.gzipped import unpacking
from tsim.logs import read_log, reading

MOST = 100_000
# Several members, as `cat a.gz b.gz` makes them; what counts is what all of them unpack to.
BOMB = gzip.compress(b" " * 40_000) * 3
LINES = b'{"role": "user", "content": "bread"}\n' * 50


def test_what_was_packed_is_read_as_it_was():
    data = bytes(range(256)) * 9_000
    packed = gzip.compress(data) + gzip.compress(b"\nmore\n")
    whole = data + b"\nmore\n"
    assert unpacking(io.BytesIO(packed), most=len(whole)).read() == whole
    with unpacking(io.BytesIO(packed), most=len(whole)) as lines:
        assert [*lines] == [*io.BytesIO(whole)]
    with pytest.raises(InputError, match=r"more than 2,304,005 bytes.*unpack it"):
        unpacking(io.BytesIO(packed), most=len(whole) - 1).read()


def test_no_more_is_unpacked_than_asked_for():
    """A gigabyte in a megabyte: it is refused long before it is unpacked."""
    packed = io.BytesIO(gzip.compress(bytes(1 << 20)) * 1024)
    stream = unpacking(packed, most=MOST)
    with pytest.raises(InputError, match="more than"):
        stream.read()
    assert packed.tell() < 1 << 17


@pytest.mark.parametrize("cut", [slice(0, 40), slice(0, 5), slice(3, None)])
def test_damage_is_told(cut):
    with pytest.raises(InputError, match="damaged or incomplete"):
        unpacking(io.BytesIO(gzip.compress(LINES)[cut]), most=MOST).read()


def test_a_log_unpacks_to_a_gigabyte_at_most(monkeypatch):
    assert reading.MOST_BYTES == 1 << 30
    monkeypatch.setattr(reading, "MOST_BYTES", MOST)
    assert len(read_log(gzip.compress(LINES)).turns) == 50
    with pytest.raises(InputError, match="unpacks to more than 100,000 bytes"):
        read_log(BOMB)
