import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest

LINES = "\n".join(
    json.dumps({"role": ("user", "model")[n % 2], "content": f"the budget rule {n} " * 9})
    for n in range(24)
)


def test_a_thread_goes_in_is_searched_exported_and_forgotten(tsim, tmp_path, preset):
    (tmp_path / "chat.jsonl").write_text(LINES)
    added = json.loads(tsim("add", "chat.jsonl", "--json", "--preset", preset.name).stdout)
    receipts = added.pop("receipts")
    assert added == {"format": "jsonl", "skipped": {}, "untimed": 0, "problems": []}
    assert [receipt["turn"] for receipt in receipts] == list(range(24))

    found = tsim("search", "budget rule 3", "-k", "2", "--min-relevance", "0", "--json")
    hits = json.loads(found.stdout)
    assert 1 <= len(hits) <= 2
    assert hits[0]["score"] >= hits[-1]["score"]
    reasons = {
        "official": {"raw", "summary", "cluster", "expansion", "evidence"},
        "late": {"anchor", "dense", "lexical", "words", "opens", "closes", "evidence"},
    }
    assert reasons[preset.name] <= hits[0]["why"].keys()
    assert hits[0]["turns"]
    every = ("--min-relevance", "0")
    shown = tsim("search", "budget rule 3", *every).stdout
    assert "the budget rule" in shown
    assert {"late": "relevance", "official": "score"}[preset.name] in shown

    assert "user: the budget rule" in tsim("context", "budget", "--budget", "200", *every).stdout
    episodes = json.loads(tsim("episodes", "--json").stdout)
    assert sum(len(episode["turns"]) for episode in episodes) == 24

    assert tsim("export", "out.jsonl").returncode == 0
    assert (
        tsim("import", "out.jsonl", "--memory", "copy.db", "--preset", preset.name).returncode == 0
    )
    assert tsim("export", "again.jsonl", "--memory", "copy.db").returncode == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()

    gone = json.loads(tsim("forget", "--turn", "3", "--json").stdout)
    assert gone["turns"] == [3]
    assert json.loads(tsim("doctor", "--json").stdout)["problems"] == []
    assert tsim("forget", "--whole-thread", "--yes").returncode == 0
    assert json.loads(tsim("threads", "--json").stdout) == []


def test_relevance_is_shown_and_bounds_what_is_returned(tsim):
    tsim("add", stdin=LINES)
    hits = json.loads(tsim("search", "budget rule", "--min-relevance", "0", "--json").stdout)
    assert hits
    assert all(0 <= hit["relevance"] <= 1 for hit in hits)
    assert all(hit["relevance"] == hit["why"]["relevance"] for hit in hits)
    none = tsim("search", "budget rule", "--min-relevance", "1")
    assert (none.returncode, none.stdout) == (0, "no results in thread default of memory.db\n")
    assert tsim("context", "budget rule", "--min-relevance", "1").stdout.strip() == ""
    for command in ("search", "context"):
        assert "--min-relevance" in tsim(command, "--help").stdout
        for wrong in ("-0.1", "1.5", "nan"):
            ran = tsim(command, "budget rule", "--min-relevance", wrong, "--json")
            assert ran.returncode == 1
            error = json.loads(ran.stdout)["error"]
            assert error["kind"] == "bad_input"
            assert "between 0 and 1" in error["message"]


def test_turns_come_from_stdin_too(tsim):
    assert tsim("add", "-", "--thread", "b", stdin=LINES).returncode == 0
    assert len(json.loads(tsim("episodes", "--thread", "b", "--json").stdout)) >= 1
    anew = tsim("episodes", "--thread", "b", "--threshold", "0", "--json")
    assert len(json.loads(anew.stdout)) == 24
    assert tsim("episodes", "--thread", "b", "--threshold", "7").returncode == 1


GOOD = b'{"role": "user", "text": "fine", "id": 7}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ('\n\n{"role": "user"}', "line 4: text: missing"),
        ('{"role": 4, "text": "x"}', "line 2: role: expected text, found 4"),
        ('{"role": "user", "text": {}}', "line 2: text: expected text or a list of parts"),
        ('["user"]', "line 2, message 1: expected an object"),
        (b'{"role": "user", "text": "\xff"}', "line 2: not UTF-8 (byte 26"),
        ('{"role": "user", "text": "\\ud800"}', "line 2: lone surrogate"),
        ('{"role": "user", "text": "x", "at": "noon"}', "line 2: at: 'noon' is not a time"),
        ('{"role": "user", "text": "x", "id": "7"}', "line 2: id '7' belongs to another text"),
    ],
)
def test_a_bad_line_is_named_and_stops_nothing_unless_told_to(tsim, tmp_path, line, message):
    log = GOOD + (line if isinstance(line, bytes) else line.encode())
    strict = tsim("add", "--strict", stdin=log)
    assert strict.returncode == 1
    assert f"stdin, {message}" in strict.stderr
    assert "nothing was added" in strict.stderr
    assert not (tmp_path / "memory.db").exists()
    ran = tsim("add", stdin=log)
    assert ran.returncode == 3
    assert f"stdin, {message}" in ran.stderr
    assert ran.stdout.startswith("added 1 turn in 1 episode")
    again = tsim("add", "--json", stdin=log)
    said = json.loads(again.stdout)
    assert again.returncode == 3
    assert [receipt["known"] for receipt in said["receipts"]] == [True]
    (problem,) = said["problems"]
    assert f"{problem['where']}: {problem['message']}".startswith(message)


@pytest.mark.parametrize(
    "log", [b"{", b"[{]", b'{"role": "user"}', b"PK\x03\x04", b"\x1f\x8b\x08x"]
)
def test_a_log_without_a_turn_that_can_be_read_adds_nothing(tsim, tmp_path, log):
    ran = tsim("add", stdin=log)
    assert ran.returncode == 1
    assert "nothing was added" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "memory.db").exists()


def test_what_was_left_out_is_said_and_many_problems_are_cut_short(tsim):
    parts = [{"type": "text", "text": "look"}, {"type": "image"}, {"type": "image"}]
    log = json.dumps({"role": "user", "content": parts}) + "\n{" * 12
    ran = tsim("add", stdin=log)
    assert "left out: 2 images" in ran.stdout
    assert ran.stderr.count("not JSON") == 10
    assert "and 2 more problems" in ran.stderr


def test_ids_make_adding_a_file_twice_harmless_and_can_be_ignored(tsim, tmp_path):
    log = [{"role": "user", "text": f"bread {n}", "id": f"m{n}"} for n in range(6)]
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(log).encode()))
    assert "added 6 turns" in tsim("add", "a.json.gz").stdout
    assert "added 0 turns" in tsim("add", "a.json.gz").stdout
    assert "added 6 turns" in tsim("add", "a.json.gz", "--no-ids").stdout
    log[3]["text"] = "butter"
    ran = tsim("add", stdin=json.dumps([{"role": "user", "text": "new"}, *log]))
    assert ran.returncode == 1
    assert "id 'm3' belongs to turn 3 with the text 'bread 3', found 'butter'" in ran.stderr
    found = json.loads(tsim("episodes", "--json").stdout)
    turns = [turn for episode in found for turn in episode["turns"]]
    assert [turn["external_id"] for turn in turns] == [*(f"m{n}" for n in range(6)), *[None] * 6]


def test_the_kind_of_a_log_can_be_given(tsim):
    ran = tsim("add", "--format", "paragraphs", "--json", stdin="User: one\nUser: two\n\nthree")
    assert len(json.loads(ran.stdout)["receipts"]) == 2
    assert tsim("add", "--format", "csv", stdin="one line").returncode == 1
    assert tsim("add", "--format", "nonsense", stdin="x").returncode == 2


def test_failures_are_json_and_leave_no_file_behind(tsim, tmp_path):
    for command in (("add", "nowhere.jsonl"), ("doctor",), ("export", "x.jsonl")):
        ran = tsim(*command, "--json")
        assert ran.returncode == 1
        assert json.loads(ran.stdout)["error"]["kind"] == "bad_input"
    assert not (tmp_path / "memory.db").exists()


def test_reading_commands_make_no_file(tsim, tmp_path):
    for command in (("search", "x"), ("context", "x"), ("episodes",), ("forget", "--turn", "1")):
        ran = tsim(*command, "--memory", "typo.db")
        assert ran.returncode == 1
        assert "typo.db does not exist" in ran.stderr
    assert not (tmp_path / "typo.db").exists()


def test_text_with_brackets_is_shown_as_it_is(tsim):
    tsim("add", stdin='{"role": "user", "text": "use [/INST] and [red]budget[/red]"}')
    for command in (("episodes",), ("search", "budget")):
        ran = tsim(*command)
        assert ran.returncode == 0
        assert "[/INST]" in ran.stdout
        assert "[red]" in ran.stdout


def test_another_preset_is_offered_a_rebuild(tsim):
    tsim("add", stdin=LINES)
    ran = tsim("search", "x", "--preset", "longmemeval", "--json")
    error = json.loads(ran.stdout)["error"]
    assert error["kind"] == "mismatch"
    assert "tsim doctor --rebuild" in error["message"]
    assert tsim("doctor", "--rebuild", "--preset", "longmemeval").returncode == 0
    assert tsim("search", "budget", "--preset", "longmemeval").returncode == 0


def test_a_search_can_be_narrowed_to_times_and_speakers(tsim, preset):
    ago = [400, 3, 2, 0]
    now = datetime.now(UTC)
    lines = [
        {
            "role": ("user", "model")[n % 2],
            "text": f"the budget rule {n}",
            "at": (now - timedelta(days=days)).timestamp(),
        }
        for n, days in enumerate(ago)
    ]
    stdin = "\n".join(json.dumps(one) for one in lines)
    assert tsim("add", "--preset", preset.name, stdin=stdin).returncode == 0

    def found(*options):
        ran = tsim("search", "budget rule", "--min-relevance", "0", "--json", *options)
        return sorted(turn["id"] for hit in json.loads(ran.stdout) for turn in hit["turns"])

    assert found() == [0, 1, 2, 3]
    assert found("--since", "7d") == [1, 2, 3]
    assert found("--since", "1w", "--until", "36h") == [1, 2]
    assert found("--until", (now - timedelta(days=100)).date().isoformat()) == [0]
    assert found("--role", "user") == [0, 2]
    assert found("--role", "user", "--role", "model", "--since", "10d") == [1, 2, 3]
    shown = tsim("context", "budget", "--min-relevance", "0", "--since", "7d", "--role", "user")
    assert "budget rule 2" in shown.stdout
    assert "budget rule 0" not in shown.stdout
    refused = tsim("search", "budget", "--since", "soon", "--json")
    assert refused.returncode == 1
    assert "since='soon' is not a time" in json.loads(refused.stdout)["error"]["message"]


def test_searches_can_be_limited_to_meta(tsim):
    lines = [
        {"role": "user", "text": f"bread {n}", "meta": {"n": n, "s": str(n)}} for n in range(9)
    ]
    tsim("add", stdin="\n".join(map(json.dumps, lines)))
    for wanted, found in (("n=3", "3-3"), ("s=3", ""), ('s="3"', "3-3"), ("x=y", "")):
        ran = tsim("search", "bread", "--min-relevance", "0", "--meta", wanted, "--json")
        ids = [turn["id"] for hit in json.loads(ran.stdout) for turn in hit["turns"]]
        assert "-".join(map(str, ids * 2)) == found
    assert tsim("context", "bread", "--meta", "n").returncode == 1
