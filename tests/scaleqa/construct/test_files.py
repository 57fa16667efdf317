"""Requests and replies by file."""

import json

import pytest

from scaleqa.construct import opened, release
from scaleqa.construct.files import due, export_file, export_folder, import_replies
from scaleqa.construct.receipts import Replied
from scaleqa.errors import DataError
from tests.scaleqa.construct.support import (
    command,
    json_of,
    plan_of,
    released,
    scaleqa,
    work,
    write_plan,
)
from tests.support.authors import Author, kind_of, reply
from tests.support.servers import completion, serving

BY_FILE = {"writer": "batch:one", "reader": "batch:two"}


def answer_all(site, place, form):
    """Answers everything that is due, by a folder, by lines, or as a provider gives it back."""
    number = 0
    while tickets := due(site, None):
        number += 1
        said = {ticket.key: json.dumps(reply(ticket.prompt.text)) for ticket in tickets}
        if form == "folder":
            folder = place / str(number)
            export_folder(site, tickets, folder)
            for file in folder.glob("*.txt"):
                file.with_suffix(".json").write_text(json.dumps(reply(file.read_text())))
            import_replies(site, [folder])
            continue
        file = place / f"{number}.jsonl"
        export_file(site, tickets, file)
        asked = [json.loads(line) for line in file.read_text().splitlines()]
        assert [one["custom_id"] for one in asked] == [*said]
        lines = [
            {"id": key, "reply": json.loads(text)}
            if form == "lines"
            else {"custom_id": key, "response": {"body": completion(text)}}
            for key, text in said.items()
        ]
        back = place / f"{number}.back.jsonl"
        back.write_text("".join(json.dumps(line) + "\n" for line in lines))
        import_replies(site, [back])


@pytest.mark.parametrize("form", ["folder", "lines", "batch"])
def test_records_by_file_are_those_by_server(tmp_path, form):
    with serving(Author()) as server:
        whole = released(work(plan_of(server.url, 3), tmp_path / "served"))
    with opened(tmp_path / "out", plan_of(count=3, models=BY_FILE)) as site:
        answer_all(site, tmp_path, form)
    found = released(site)
    assert len(found) == 3
    assert [*found] == [*whole]
    assert release(site.book).report.critical == []


def test_both_kinds_of_reading_are_open_at_once_and_told_apart(tmp_path):
    plan = plan_of(count=2, models=BY_FILE)
    with opened(tmp_path / "out", plan) as site:
        while not due(site, "open"):
            tickets = due(site, None)
            export_folder(site, tickets, tmp_path / str(len(site.ledger.receipts)))
            lines = [{"id": t.key, "reply": reply(t.prompt.text)} for t in tickets]
            (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
            import_replies(site, [tmp_path / "x.jsonl"])
        for stage in ("open", "closed"):
            export_folder(site, due(site, stage), tmp_path / stage)
    for stage in ("open", "closed"):
        files = sorted((tmp_path / stage).glob("*.txt"))
        assert len(files) == 2
        assert {kind_of(file.read_text()) for file in files} == {stage}
        assert not any("own" in file.name or "Gardening" in file.read_text() for file in files)
    assert not {p.name for p in (tmp_path / "open").iterdir()} & {
        p.name for p in (tmp_path / "closed").iterdir()
    }


def test_replies_that_fit_nothing_are_refused_and_none_is_kept(tmp_path):
    with opened(tmp_path / "out", plan_of(count=2, models=BY_FILE)) as site:
        tickets = due(site, "scenario")
        export_folder(site, tickets, tmp_path / "asked")
        good = {"id": tickets[0].key, "reply": reply(tickets[0].prompt.text)}
        file = tmp_path / "back.jsonl"
        for bad, match in (
            ({"id": "ffff", "reply": {}}, "was not asked"),
            ({"id": tickets[0].key, "reply": {}}, "a second time"),
            ({"key": 1}, "no reply"),
        ):
            file.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
            with pytest.raises(DataError, match=match):
                import_replies(site, [file])
        file.write_bytes(b"\xff\xfe\n")
        with pytest.raises(DataError, match="cannot be read"):
            import_replies(site, [file])
        with pytest.raises(DataError, match="no replies"):
            import_replies(site, [tmp_path / "asked"])
        with pytest.raises(DataError, match="no stage 'opne'"):
            due(site, "opne")
        assert not any(isinstance(one, Replied) for one in site.ledger.receipts)
        file.write_text(json.dumps(good) + "\n")
        assert import_replies(site, [file]).taken == 1
        assert import_replies(site, [file]).taken == 0
        file.write_text(json.dumps(good | {"reply": {"scenario": "another"}}) + "\n")
        with pytest.raises(DataError, match="something else"):
            import_replies(site, [file])


def until(site, kind, place):
    """Answers all that comes before a kind of request; returns the requests of that kind."""
    while not (tickets := due(site, kind)):
        lines = [{"id": t.key, "reply": reply(t.prompt.text)} for t in due(site, None)]
        export_folder(site, due(site, None), place / lines[0]["id"])
        file = place / f"{lines[0]['id']}.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in lines))
        assert import_replies(site, [file]).refused == ()
    return tickets


BAD_REPLIES = {
    "no whole JSON": ("scenario", lambda _: '{"scenario": ', "no whole JSON"),
    "evidence out of range": ("dialogue", lambda good: good | {"evidence": [40]}, "evidence"),
    "a forbidden phrase": (
        "question",
        lambda good: good | {"question": "As discussed, which of both do we take?"},
        "s discussed",
    ),
    "no such letter": ("open", lambda good: good | {"answer": "E"}, "answer: Input should be"),
}


@pytest.mark.parametrize("case", BAD_REPLIES)
def test_replies_that_are_not_accepted_are_told_with_the_reason(tmp_path, case):
    """At once, although the step is decided only when all replies are there."""
    kind, spoil, reason = BAD_REPLIES[case]
    out = tmp_path / "out"
    with opened(out, plan_of(count=2, models=BY_FILE, tries=2)) as site:
        tickets = until(site, kind, tmp_path / "before")
        export_folder(site, tickets, tmp_path / "asked")
    for number in (1, 2):
        bad, *others = tickets
        file = tmp_path / f"{number}.jsonl"
        said = spoil(reply(bad.prompt.text))
        file.write_text(json.dumps({"id": bad.key, "reply": said}) + "\n")
        if number == 1:
            found = json_of("import", out, file)
            (refused,) = found["refused"]
            assert (refused["key"], refused["tries"], refused["most"]) == (bad.key, 1, 2)
            assert not refused["dropped"]
            assert reason in " ".join(refused["reasons"])
        else:
            text = command("import", out, file)
            assert f"{bad.key} was not accepted, which counts as a try (2 of 2)" in text
            assert reason in text
            assert "The item is dropped" in text
            assert "of which 1 not accepted" in text
            return
        with opened(out) as site:
            rest = [*others, *(due(site, "closed") if kind == "open" else ())]
            export_folder(site, rest, tmp_path / "rest")
            lines = [{"id": t.key, "reply": reply(t.prompt.text)} for t in rest]
            file.write_text("".join(json.dumps(one) + "\n" for one in lines))
            assert import_replies(site, [file]).refused == ()
            tickets = due(site, kind)
            assert len(tickets) == 1
            export_folder(site, tickets, tmp_path / "anew")


def test_commands_export_import_and_release(tmp_path):
    """Every command once; the processes take most of the time."""
    plan = write_plan(tmp_path / "plan.json", plan_of(count=1, models=BY_FILE))
    out = tmp_path / "out"
    found = json_of("run", plan, "--out", out)
    assert (found["outcome"], found["step"]) == ("waiting", "scenario")
    asked = json_of("export", out, "--to", tmp_path / "asked")
    assert asked["requests"] == 1
    (file,) = (tmp_path / "asked").glob("*.txt")
    file.with_suffix(".json").write_text(json.dumps(reply(file.read_text())))
    taken = json_of("import", out, tmp_path / "asked", "--by", "me")
    assert taken == {"taken": 1, "refused": [], "step": "question", "open": 1}
    with opened(out) as site:
        assert [r.by for r in site.ledger.receipts if isinstance(r, Replied)] == ["me"]
        answer_all(site, tmp_path / "rest", "folder")
    to = tmp_path / "released" / "records.jsonl"
    done = json_of("release", out, "--to", to)
    assert done["items"] == 1
    next_ = command("release", out, "--to", to).splitlines()[-1]
    assert next_ == f"Next: scaleqa data validate {to} --cell own:Gardening"
    checked = scaleqa(*next_.split()[2:], "--no-embeddings")
    assert checked.exit_code == 0, checked.output
    names = {"records.jsonl", "draws.jsonl", "calibration.jsonl", "funnel.md"}
    assert {p.name for p in to.parent.iterdir()} == names
    assert "28.8" in (to.parent / "funnel.md").read_text()
