"""Blind readers: samples, shards that give nothing away, items answered one by one."""

import json
import threading
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.backends import Access, Stop, StoppedError, open_backend
from scaleqa.backends.itemdir import ANSWERS, Item, ItemDirectory
from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate import run_packages
from scaleqa.evaluate.batch import BatchSettings, export_batch, sample_ranks
from scaleqa.evaluate.exported import read_exported, rows_beside
from scaleqa.evaluate.imported import import_batch
from scaleqa.packages import build
from scaleqa.prompts import ABSTAIN, template
from scaleqa.reading import (
    divide,
    find_shards,
    leaks,
    next_item,
    read_pieces,
    send_batch,
    take_answer,
)
from scaleqa.reading import write_shards as write
from scaleqa.reading.leaks import Text, compared
from scaleqa.reading.turns import checked
from tests.support.records import NOISE, RECORDS, reword, settings_of
from tests.support.runs import loop, without_times
from tests.support.servers import JsonServer, completion, serving
from tsim.errors import RemoteError

SYSTEMS = ("standard_rag", "fixed_window:size=64,k=2", "zero_shot")
SAID = "ANSWER: B\nRATIONALE: so"


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:24], NOISE, settings_of(2500))


@pytest.fixture(scope="module")
def reworded():
    words = [reword(record) for record in RECORDS[:24]]
    settings = settings_of(2500, wording="other")
    return build(RECORDS[:24], NOISE, settings, wordings=words)


def exported(packages, embedder, out: Path, *systems: str, sample: int | None = None) -> Path:
    settings = BatchSettings(
        systems=systems or SYSTEMS,
        answer_model=None,
        template=template("answer.v1"),
        sample=sample,
    )
    export_batch(packages, settings, embedder, out)
    return out


@pytest.fixture(scope="module")
def files(packages, reworded, tiny_embedder, tmp_path_factory):
    """The same threads, asked about in two wordings, and whole threads."""
    root = tmp_path_factory.mktemp("exports")
    return [
        exported(packages, tiny_embedder, root / "own.jsonl", sample=12),
        exported(reworded, tiny_embedder, root / "other.jsonl"),
    ]


def scaleqa(*arguments: object, fails: bool = False) -> str:
    ran = CliRunner().invoke(app, [*map(str, arguments)])
    assert (ran.exit_code != 0) is fails, ran.output
    return str(ran.exception) if fails else ran.stdout


def test_a_sample_is_the_beginning_of_a_larger_one_and_even(packages):
    everything = sample_ranks(packages, None)
    assert len(everything) == sum(len(package.questions) for package in packages)
    for count in (1, 5, 12):
        assert sample_ranks(packages, count) == {
            name: rank for name, rank in everything.items() if rank < count
        }
    domains = {q.id: q.domain for package in packages for q in package.questions}
    taken = Counter(domains[name] for name in sample_ranks(packages, 10))
    available = Counter(domains.values())
    lowest = min(taken[domain] for domain in available if available[domain] > taken[domain])
    assert all(count <= lowest + 1 for count in taken.values())
    with pytest.raises(DataError, match="a sample of 99 was asked for"):
        sample_ranks(packages, 99)


def test_a_sample_asks_about_unchanged_threads(files, packages, tiny_embedder, tmp_path):
    rows = [one.row for one in read_exported(files[0])]
    assert {row.run.package_sha256 for row in rows} <= {one.sha256 for one in packages}
    whole = exported(packages, tiny_embedder, tmp_path / "whole.jsonl")
    known = {(one.row.run.system, one.row.id): one.row for one in read_exported(whole)}
    for row in rows:
        same = known[row.run.system, row.id]
        assert (row.detail, row.place) == (same.detail, same.place)
    # What a reader or provider gets tells neither system nor question.
    sent = files[0].read_text()
    for row in rows:
        assert row.id not in sent
        assert row.run.system not in sent


@pytest.mark.parametrize("how", [{"size": 7, "wave": 5}, {"readers": 8}])
def test_no_item_of_a_shard_gives_away_another(files, how):
    items = read_pieces(files)
    shards = divide(items, **how)
    assert sorted(one.item.custom_id for shard in shards for one in shard.items) == sorted(
        one.item.custom_id for one in items
    )
    prompts = {one.item.custom_id: one.item.prompt for one in items}
    pairs = leaking = 0
    for one, other in combinations(items, 2):
        together = any({id(one), id(other)} <= {id(i) for i in s.items} for s in shards)
        rows = one.exported.row, other.exported.row
        same = rows[0].id == rows[1].id
        # By plain search, without the passages that sharding compares.
        shown = any(
            text in prompts[a.item.custom_id] and text not in prompts[b.item.custom_id]
            for a, b in ((one, other), (other, one))
            for text in b.exported.row.evidence_texts
        )
        leaking += same or shown
        pairs += together
        assert not (together and (same or shown))
    assert pairs
    assert leaking


def test_waves_are_samples_with_all_systems(files):
    shards = divide(read_pieces(files[:1]), size=7, wave=4)
    for wave in (1, 2, 3):
        asked = [one.exported for shard in shards if shard.wave == wave for one in shard.items]
        assert {one.rank for one in asked} == {*range(4 * wave - 4, 4 * wave)}
        assert Counter(one.row.run.system for one in asked) == dict.fromkeys(SYSTEMS, 4)
    assert shards == divide(read_pieces(files[:1]), size=7, wave=4)


def text(key: str, said: str, prompt: str, *, question: str | None = None) -> Text:
    return Text(
        key=key,
        id=key,
        question=question or f"What about {key}?",
        evidence=(said,),
        matter=(said,),
        prompt=prompt,
    )


def test_what_gives_away_an_item():
    rule = "On Fridays the gate at the north side of the yard stays shut until noon"
    asks = text("gate", rule, "user: nothing of the kind")
    shows = text("other", "Something else entirely", f"user: {rule}.\nmodel: I see.")
    part = text("cut", "Something else again", "… the north side of the yard stays shut until …")
    knows = text("knows", rule + " or later", f"user: {rule} or later")
    assert [*leaks(compared([asks, shows]))]
    assert [*leaks(compared([asks, part]))]
    # Whoever is shown it anyway learns nothing from the others.
    assert not [*leaks(compared([knows, shows]))]
    short = text("short", "Make it Tuesday", "user: hm")
    assert [*leaks(compared([short, text("b", "Quite another matter", "user: Make it, Tuesday!")]))]
    again = text("again", "Nothing in common here", "user: hm", question="What about gate?")
    assert [leak.why for leak in leaks(compared([asks, again]))] == ["they ask the same"]


def test_what_another_thread_says_of_a_question_gives_it_away_as_well():
    """A record may have a sequel in one thread and none in another."""
    rule = "On Fridays the gate at the north side of the yard stays shut until noon"
    sequel = "From this week on the gate in the yard opens at six every single day"
    asks, shows = text("gate", rule, "user: hm"), text("other", "Else", f"user: {sequel}.")
    assert not [*leaks(compared([asks, shows]))]
    resumed = replace(text("resumed", sequel, f"user: {sequel}"), id=asks.id)
    found = {(leak.first, leak.second) for leak in leaks(compared([asks, shows, resumed]))}
    assert ("gate", "other") in found


def test_whole_threads_are_shown_once(packages, tiny_embedder, tmp_path, monkeypatch):
    monkeypatch.setattr("scaleqa.reading.pieces.LONG", 1000)
    prompts = exported(packages, tiny_embedder, tmp_path / "p.jsonl", "full_context", SYSTEMS[0])
    items = read_pieces([prompts])
    shards = divide(items, size=40)
    whole = [shard for shard in shards if shard.common]
    assert len(whole) == len(packages)
    assert {one.exported.row.run.system for s in whole for one in s.items} == {"full_context"}
    write(shards, tmp_path / "shards")
    directory = ItemDirectory(tmp_path / "shards" / whole[0].name)
    first = next_item(directory)
    assert first.text == whole[0].items[0].item.prompt
    directory.show(first.item)
    take_answer(directory, "A")
    second = next_item(directory)
    assert second.text == whole[0].items[1].item.prompt.removeprefix(whole[0].common)
    assert next_item(directory, again=True).text == whole[0].items[1].item.prompt


@pytest.fixture
def sharded(files, tmp_path):
    out = tmp_path / "shards"
    shards = divide(read_pieces(files), size=6)
    write(shards, out)
    return out, shards


def test_a_reader_sees_one_item_at_a_time_and_nothing_else(sharded):
    out, shards = sharded
    shard, prompts = out / shards[0].name, [one.item.prompt for one in shards[0].items]
    count = len(prompts)
    assert scaleqa("batch", "read", shard).startswith(f"item 1, {count} left\n\n{prompts[0][:200]}")
    again = scaleqa("batch", "read", shard)  # looking twice changes nothing
    for place, answer in enumerate(["B", "c", SAID, "none", "(A)", "ANSWER: D"][:count]):
        assert prompts[place].rstrip() in again
        assert not any(other in again for other in prompts[:place] + prompts[place + 1 :])
        again = scaleqa("batch", "read", shard, "--item", place + 1, "--answer", answer)
    assert again.strip() == "finished"
    kept = [json.loads(line) for line in (shard / ANSWERS).read_text().splitlines()]
    said = [line["response"]["body"]["choices"][0]["message"]["content"] for line in kept]
    assert said == ["B", "C", SAID, "none", "(A)", "ANSWER: D"][:count]
    said = scaleqa("batch", "read", shard, "--item", count, "--answer", "A", fails=True)
    assert "already" in said
    everything = "".join(path.read_text() for path in shard.iterdir())
    for one in shards[0].items:
        assert one.exported.row.id not in everything
        assert one.exported.row.run.system not in everything
    assert {path.stat().st_mode & 0o777 for path in shard.iterdir()} == {0o600}


def test_what_is_no_answer_is_refused(sharded):
    out, shards = sharded
    shard = out / shards[0].name
    first = ("batch", "read", shard, "--item", 1, "--answer")
    assert "nothing was shown" in scaleqa(*first, "A", fails=True)
    scaleqa("batch", "read", shard)
    assert "--item" in scaleqa("batch", "read", shard, "--answer", "A", fails=True)
    for wrong in ("E", "", "A or B", "ANSWER: A\nANSWER: B", "I think it is A"):
        scaleqa(*first, wrong, fails=True)
    said = scaleqa("batch", "read", shard, "--answer", "A", "--item", "2", fails=True)
    assert "item 2 is not the one to answer" in said
    assert not (shard / ANSWERS).exists()
    shown = json.loads(scaleqa(*first, "A", "--json"))
    assert (shown["state"], shown["item"], shown["left"]) == ("item", 2, len(shards[0].items) - 1)
    with ItemDirectory(shard).held():
        said = scaleqa(*first, "A", fails=True)
    assert "somebody else is reading" in said


@pytest.mark.parametrize("said", [f"ANSWER: {ABSTAIN}\nRATIONALE: no word of it", ABSTAIN.lower()])
def test_whoever_is_offered_to_abstain_may(said):
    asked = Item(custom_id="a", prompt=f"Reply with one letter, or {ABSTAIN}", letters="ABCD")
    assert checked(asked, said) == said
    with pytest.raises(DataError, match=f"or 'ANSWER: {ABSTAIN}'"):
        checked(asked, "not at all")
    with pytest.raises(DataError, match="names none of A, B, C, D"):
        checked(asked.model_copy(update={"prompt": "Reply with one letter"}), said)


def test_an_answer_that_was_kept_is_not_given_to_the_next_item(sharded):
    """A reader who was killed before the next item was shown answers again."""
    out, shards = sharded
    directory = ItemDirectory(out / shards[0].name)
    directory.show(next_item(directory).item)
    take_answer(directory, "A")
    with pytest.raises(DataError, match="has an answer already"):
        take_answer(directory, "A")
    with (directory.path / ANSWERS).open("a") as file:
        file.write('{"custom_id": "to')  # torn
    second = next_item(directory)
    assert second.number == 2
    directory.show(second.item)
    take_answer(directory, "D")
    assert [reply.text for reply in directory.answered.values()] == ["A", "D"]


def test_answers_of_shards_become_rows_of_tracks(sharded, files, tiny_embedder, tmp_path):
    out, shards = sharded
    for shard in shards:
        directory = ItemDirectory(out / shard.name)
        for one in shard.items:
            letter = one.exported.row.gold
            directory.answer(one.item, letter if one.exported.row.hit else "none")
    answers = sorted(out.glob(f"*/{ANSWERS}"))
    with pytest.raises(DataError, match="name them with --reader"):
        import_batch(files, answers, tmp_path / "rows", tiny_embedder)
    rows = import_batch(files, answers, tmp_path / "rows", tiny_embedder, reader="blind")
    assert {row.run.reader.backend for row in rows} == {"reader:blind"}
    assert all(row.answered.correct == row.hit for row in rows)
    assert {path.parent.parent.name for path in (tmp_path / "rows").rglob("*.jsonl")} == {
        "own",
        "other",
    }
    with pytest.raises(DataError, match="of another run or reader"):
        import_batch(files, answers, tmp_path / "rows", tiny_embedder, reader="somebody")
    # Half of it is a table, too.
    some = import_batch(
        files, answers[:3], tmp_path / "some", tiny_embedder, reader="blind", partial=True
    )
    assert 0 < len(some) < len(rows)


def other_track(files: list[Path], key: str, name: str) -> bool:
    rows = {one.custom_id: one.row for file in files for one in read_exported(file)}
    return not name.startswith(rows[key].run.track)


def test_the_commands_go_together(files, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    out = tmp_path / "shards"
    found = json.loads(scaleqa("batch", "shard", *files, "--size", 6, "--out", out, "--json"))
    everything = {one.custom_id for file in files for one in read_exported(file)}
    assert sum(one["items"] for one in found["shards"]) == len(everything)
    first = out / found["shards"][0]["shard"]
    scaleqa("batch", "read", first)
    scaleqa("batch", "read", first, "--item", 1, "--answer", "A")
    checked = json.loads(scaleqa("batch", "check", *files, out, "--json"))
    assert checked["leaks"] == []
    assert sum(one["answered"] for one in checked["counts"]) == 1
    assert {one["track"].rpartition(" ")[0] for one in checked["counts"]} == {
        "as written",
        "other words",
    }
    # What is answered is not asked again.
    rest = json.loads(
        scaleqa("batch", "shard", *files, out, "--size", 6, "--out", tmp_path / "rest", "--json")
    )
    assert sum(one["items"] for one in rest["shards"]) == len(everything) - 1
    keys = {item.custom_id for shard in find_shards([tmp_path / "rest"]) for item in shard.items}
    assert everything - keys == {*ItemDirectory(first).answered}
    named = ("--partial", "--reader", "r", "--out", tmp_path / "r")
    table = scaleqa("batch", "import", *files, out, *named)
    assert "hit and correctness" in table
    # Two tracks are side by side, in the terminal and in the report.
    answered_by = [one for one in checked["counts"] if one["answered"]]
    assert len(answered_by) == 1
    second = next(
        one["shard"]
        for one in found["shards"]
        for item in ItemDirectory(out / one["shard"]).items[:1]
        if other_track(files, item.custom_id, answered_by[0]["track"])
    )
    scaleqa("batch", "read", out / second)
    scaleqa("batch", "read", out / second, "--item", 1, "--answer", "A")
    assert "Accuracy by track" in scaleqa("batch", "import", *files, out, *named)
    scaleqa("report", tmp_path / "r", "--out", tmp_path / "report.html")
    assert "All tracks" in (tmp_path / "report.html").read_text()
    # Items put together by hand are found out.
    items = [item for one in found["shards"] for item in ItemDirectory(out / one["shard"]).items]
    ItemDirectory.create(tmp_path / "bad" / "w01-001", items, live=False)
    assert "give away each other" in scaleqa("batch", "check", *files, tmp_path / "bad", fails=True)


def test_sending_continues_where_it_stopped(files, tiny_embedder, tmp_path):
    out = tmp_path / "answers.jsonl"
    with serving(JsonServer(lambda _: completion(SAID))) as server:
        model = OpenAI("m", base_url=server.url)
        server.script = [None] * 4 + [(400, {}, {})]
        with pytest.raises(RemoteError):
            send_batch(files[0], model, out)
        kept = out.read_text().splitlines()
        assert len(kept) == 4
        with out.open("a") as file:
            file.write('{"custom')
        done = send_batch(files[0], model, out, workers=3)
        assert done == len(read_exported(files[0])) == len(server.seen) - 1
        assert out.read_text().splitlines()[:4] == kept
        model.close()
        other = OpenAI("another", base_url=server.url)
        with pytest.raises(DataError, match="has answers of m@"):
            send_batch(files[0], other, out)
        other.close()
    rows = import_batch(files[0], [out], tmp_path / "rows", tiny_embedder)
    assert {row.run.reader.backend for row in rows} == {model.identity}


def test_old_exports_can_be_read(files, tiny_embedder, tmp_path):
    """Earlier versions wrote neither ranks nor what questions are about."""
    old = tmp_path / "old.jsonl"
    old.write_bytes(files[0].read_bytes())
    lines = [json.loads(line) for line in rows_beside(files[0]).read_text().splitlines()]
    kept = ("custom_id", "row")
    rows_beside(old).write_text(
        "".join(json.dumps({name: line[name] for name in kept}) + "\n" for line in lines)
    )
    assert len(divide(read_pieces([old]), size=5)) >= len(lines) / 5
    answers = tmp_path / "answers.jsonl"
    with serving(JsonServer(lambda _: completion(SAID))) as server:
        model = OpenAI("m", base_url=server.url)
        send_batch(old, model, answers)
        model.close()
    assert len(import_batch(old, [answers], tmp_path / "rows", tiny_embedder)) == len(lines)


def answer_all(directory: Path, said: str, most: int, ended: threading.Event) -> None:
    """Reads a live directory until the run has ended."""
    while most and not ended.wait(0.02):
        if (directory / "shard.json").exists():
            items = ItemDirectory(directory)
            shown = next_item(items)
            if shown.item:
                items.show(shown.item)
                take_answer(items, said)
                most -= 1


def test_a_live_reader_gives_the_rows_of_a_model_that_says_the_same(
    packages, tiny_embedder, tmp_path, monkeypatch
):
    monkeypatch.setattr("scaleqa.backends.reader.LOOK", 0.01)
    one = packages[:1]
    total = len(one[0].questions)

    def run(most: int, stop: Stop) -> list:
        reader = open_backend(f"reader:{tmp_path / 'live'},name=blind", Access(stop=stop))
        ended = threading.Event()
        arguments = (tmp_path / "live", SAID, most, ended)
        thread = threading.Thread(target=answer_all, args=arguments, daemon=True)
        thread.start()
        if most < total:
            threading.Timer(1.5, stop.set).start()
        try:
            return run_packages(one, loop(reader), tiny_embedder, tmp_path / "rows")
        finally:
            ended.set()
            thread.join()
            reader.close()

    with pytest.raises(StoppedError):
        run(3, Stop())
    assert not ItemDirectory(tmp_path / "live").finished
    rows = run(total, Stop())
    assert ItemDirectory(tmp_path / "live").finished
    assert len((tmp_path / "live" / ANSWERS).read_text().splitlines()) == total
    assert {row.run.reader.backend for row in rows} == {"reader:blind"}
    with serving(JsonServer(lambda _: completion(SAID))) as server:
        model = OpenAI("m", base_url=server.url)
        expected = without_times(run_packages(one, loop(model), tiny_embedder))
        model.close()
    for row in expected:
        row["run"]["reader"]["backend"] = "reader:blind"
        row["answered"] |= {"prompt_tokens": 0, "completion_tokens": 0}
    assert without_times(rows) == expected


def test_a_live_directory_has_one_run_and_no_shard_is_one(sharded, tmp_path):
    out, shards = sharded
    with pytest.raises(DataError, match="is a shard of a batch"):
        open_backend(f"reader:{out / shards[0].name}")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DataError, match="holds something else"):
        open_backend(f"reader:{tmp_path / 'full'}")
    first = open_backend(f"reader:{tmp_path / 'live'}")
    with pytest.raises(DataError, match="another run asks"):
        open_backend(f"reader:{tmp_path / 'live'}")
    first.close()
    open_backend(f"reader:{tmp_path / 'live'}").close()
