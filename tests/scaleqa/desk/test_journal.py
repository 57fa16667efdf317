"""Journals: what is answered is on disk, what was torn is set aside, nothing counts twice."""

import os
import threading

import pytest

from scaleqa.desk import Entry, Journal, new_id, read_entries
from scaleqa.errors import DataError


class Said(Entry):
    words: str


def said(words, name=None):
    return Said(id=name or new_id(), at="2026-01-01T00:00:00+00:00", words=words)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def test_entries_are_read_again_as_they_were_written(path):
    journal = Journal(path, Said)
    written = [journal.append(said(f"word {n}\nline\u2028 {n}")) for n in range(5)]
    journal.close()
    again = Journal(path, Said)
    assert list(again.entries) == written == read_entries(path, Said)
    assert again.get(written[2].id) == written[2] and again.get("0" * 32) is None
    assert path.stat().st_mode & 0o777 == 0o600
    again.close()


def test_the_same_id_counts_once_and_keeps_its_first_time(path):
    journal = Journal(path, Said)
    first = journal.append(said("yes", "a" * 32))
    late = Said(id="a" * 32, at="2026-02-02T00:00:00+00:00", words="yes")
    assert journal.append(late) == first
    with pytest.raises(DataError, match="sent before, with something else"):
        journal.append(said("no", "a" * 32))
    assert path.read_bytes().count(b"\n") == 1
    journal.close()


def test_a_torn_last_line_is_set_aside_with_a_message(path):
    journal = Journal(path, Said)
    kept = journal.append(said("whole"))
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"id":"')
    assert read_entries(path, Said) == [kept]
    told = []
    again = Journal(path, Said, told=told.append)
    assert again.entries == (kept,) and "7 bytes are in journal.jsonl.torn" in told[0]
    assert path.with_name("journal.jsonl.torn").read_bytes() == b'{"id":"\n'
    added = again.append(said("after"))
    again.close()
    assert read_entries(path, Said) == [kept, added]


@pytest.mark.parametrize("line", [b"{}", b"not json", b"", b'{"id":"x","at":"","words":""}'])
def test_a_line_that_is_no_entry_is_an_error_that_names_it(path, line):
    Journal(path, Said).close()
    path.write_bytes(said("whole").model_dump_json().encode() + b"\n" + line + b"\n")
    before = path.read_bytes()
    for reading in (lambda: Journal(path, Said), lambda: read_entries(path, Said)):
        with pytest.raises(DataError, match="line 2: "):
            reading()
    assert path.read_bytes() == before


def test_ids_that_occur_twice_are_an_error(path):
    line = said("whole").model_dump_json().encode() + b"\n"
    path.write_bytes(line + line)
    with pytest.raises(DataError, match="twice"):
        Journal(path, Said)


def test_an_entry_that_is_not_allowed_any_more_is_not_written(path):
    journal = Journal(path, Said)

    def refuse():
        raise DataError("too late")

    with pytest.raises(DataError, match="too late"):
        journal.append(said("no"), refuse)
    assert path.read_bytes() == b""
    there = journal.append(said("yes"))
    assert journal.append(there, refuse) == there
    journal.close()


def test_what_cannot_be_written_leaves_nothing_behind(path, monkeypatch):
    journal = Journal(path, Said)
    journal.append(said("one"))
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DataError, match="was not kept"):
            journal.append(said("two"))
    assert path.read_bytes() == before and len(journal.entries) == 1
    journal.append(said("three"))
    journal.close()
    assert [entry.words for entry in read_entries(path, Said)] == ["one", "three"]


def test_many_threads_write_whole_lines(path):
    journal = Journal(path, Said)
    threads = [
        threading.Thread(target=lambda n=n: [journal.append(said(f"{n}")) for _ in range(20)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.entries == tuple(read_entries(path, Said)) and len(journal.entries) == 160
    journal.close()
