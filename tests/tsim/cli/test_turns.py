import json

import pytest

LINES = "\n".join(
    json.dumps({"role": ("user", "model")[n % 2], "content": f"the budget rule {n} " * 9})
    for n in range(24)
)


def test_a_thread_goes_in_is_searched_exported_and_forgotten(tsim, tmp_path, preset):
    (tmp_path / "chat.jsonl").write_text(LINES)
    receipts = json.loads(tsim("add", "chat.jsonl", "--json", "--preset", preset.name).stdout)
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


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"role": "user", "text": "fine"}\n{', "stdin, line 2: not JSON"),
        ('\n\n{"role": "user"}', "stdin, line 3: text"),
        ('{"role": 4, "text": "x"}', "stdin, line 1: role"),
        ('{"role": "user", "text": ""}', "stdin, line 1: a user turn is empty"),
        ('["user", "x"]', "stdin, line 1"),
        (b'{"role": "user", "text": "\xff"}', "stdin, line 1: not UTF-8 (byte 26"),
        ('{"role": "user", "text": "\\ud800"}', "stdin, line 1: lone surrogate"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_added(tsim, tmp_path, lines, message):
    ran = tsim("add", stdin=lines)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "memory.db").exists()


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
