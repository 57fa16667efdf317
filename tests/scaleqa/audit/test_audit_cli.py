"""`scaleqa audit` as people use it: plan, invite, serve, be killed, go on, report, export."""

import json
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner

from scaleqa.audit.book import Book, rating
from scaleqa.audit.files import read_plan
from scaleqa.cli.app import app
from scaleqa.desk import new_id
from scaleqa.errors import DataError
from tests.support.audits import careful, simulated
from tests.support.records import RECORDS

SMALL = ["--items", "20", "--gold", "2", "--attention", "2"]
SAME = {"sec-fetch-site": "same-origin"}


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)], catch_exceptions=False)


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    place = tmp_path_factory.mktemp("audit") / "first"
    assert run("plan", "--out", place, *SMALL).exit_code == 0
    return place


@pytest.fixture
def place(planned, tmp_path):
    copy = tmp_path / "audit"
    copy.mkdir()
    (copy / "plan.json").write_bytes((planned / "plan.json").read_bytes())
    return copy


def keep(place, judgements):
    plan = read_plan(place)
    book = Book(place, plan)
    for one in judgements:
        line = rating(
            form=new_id(),
            rater=one.rater,
            item=one.item,
            base="",
            values=one.values,
            seconds=one.seconds,
        )
        book.rate(line)
    book.close()


def test_a_plan_is_the_same_bytes_every_time_and_says_what_it_holds(planned, tmp_path):
    said = json.loads(run("plan", "--out", tmp_path / "b", *SMALL, "--json").stdout)
    assert (tmp_path / "b" / "plan.json").read_bytes() == (planned / "plan.json").read_bytes()
    assert [one["items"] for one in said["raters"]] == [24, 24, 24]
    with pytest.raises(DataError, match="another plan"):
        run("plan", "--out", tmp_path / "b", *SMALL, "--seed", "1")


def test_the_third_split_is_audited_if_asked_for(tmp_path):
    chosen = ["--split", "s3", "--split", "s1"]
    said = json.loads(run("plan", "--out", tmp_path / "c", *SMALL, *chosen, "--json").stdout)
    assert said["sources"][0]["candidates"] == 1500 + 531
    plan = read_plan(tmp_path / "c")
    assert {item.origin.split for item in plan.items} == {"s1", "s3"}
    alone = json.loads(
        run("plan", "--out", tmp_path / "d", *SMALL, "--split", "s3", "--json").stdout
    )
    assert {"purpose": "gold", "shown": "choice", "source": "scaleqa", "items": 2} in alone["items"]
    with pytest.raises(DataError, match="no split 's9'; there are s1, s2, s3"):
        run("plan", "--out", tmp_path / "e", *SMALL, "--split", "s9")
    assert not (tmp_path / "e").exists()


def test_links_are_printed_once(place):
    said = run("invite", place, "--raters", "2", "--url", "https://audit.example.org/").stdout
    found = re.findall(r"https://audit\.example\.org/rater-(\d)/\?token=[0-9a-f]{40}\n", said)
    assert found == ["1", "2"]
    more = json.loads(run("invite", place, "--raters", "3", "--json").stdout)
    assert [one["rater"] for one in more] == [3]
    again = json.loads(run("invite", place, "--raters", "3", "--replace", "2", "--json").stdout)
    assert [one["rater"] for one in again] == [2]
    assert run("invite", place, "--raters", "3").stdout == ""


@pytest.mark.parametrize("raters", [2, 4])
def test_all_raters_of_the_plan_are_invited(tmp_path, raters):
    run("plan", "--out", tmp_path / "a", *SMALL, "--raters", raters)
    invited = json.loads(run("invite", tmp_path / "a", "--json").stdout)
    assert [one["rater"] for one in invited] == [*range(1, raters + 1)]


def test_replacing_a_link_invites_nobody_else(place):
    run("invite", place, "--raters", "1")
    again = json.loads(run("invite", place, "--replace", "1", "--json").stdout)
    assert [one["rater"] for one in again] == [1]


@pytest.fixture
def serve_briefly(monkeypatch):
    """`audit serve` that stops as soon as it is started, and takes no port from other tests."""

    def held(port, host):
        return SimpleNamespace(getsockname=lambda: (host, port), close=lambda: None)

    def started_alone(_, listening, *, started):
        host, port = listening.getsockname()
        started(f"http://{host}:{port}")

    monkeypatch.setattr("scaleqa.desk.hold", held)
    monkeypatch.setattr("scaleqa.desk.serve", started_alone)
    return lambda place, *words: run("serve", place, *words)


def link_of(place, *words):
    return json.loads(run("invite", place, *words, "--json").stdout)[0]["link"].split("/rater")[0]


def test_links_lead_to_where_the_audit_is_served(place, serve_briefly):
    assert link_of(place, "--raters", "1") == "http://127.0.0.1:8780"
    assert link_of(place, "--raters", "2", "--port", "8787") == "http://127.0.0.1:8787"
    serve_briefly(place, "--port", "8799")
    assert link_of(place, "--raters", "3") == "http://127.0.0.1:8799"
    serve_briefly(place, "--url", "https://audit.example.org/")
    assert link_of(place, "--replace", "1") == "https://audit.example.org"
    with pytest.raises(DataError, match="--port and --url"):
        run("invite", place, "--port", "8787", "--url", "https://audit.example.org")


def test_links_that_lead_elsewhere_are_told(place, serve_briefly):
    run("invite", place, "--raters", "2")
    run("invite", place, "--url", "http://localhost:8787")
    said = serve_briefly(place, "--port", "8787").stderr
    assert "the links of raters 1, 2 lead to http://127.0.0.1:8780, and not here" in said
    assert "--replace 1 --replace 2" in said and "localhost" not in said
    run("invite", place, "--replace", "1", "--replace", "2")
    assert "and not here" not in serve_briefly(place, "--port", "8787").stderr
    assert "and not here" in serve_briefly(place, "--url", "https://audit.example.org").stderr


def test_other_records_without_certain_answers_are_planned_without_gold_items(tmp_path):
    records = tmp_path / "records.jsonl"
    records.write_text("".join(f"{record.model_dump_json()}\n" for record in RECORDS))
    given = ["plan", "--out", tmp_path / "a", "--records", records, "--items", "20"]
    with pytest.raises(DataError, match=r"10 gold items .* --gold 0 for none, .* --known") as said:
        run(*given)
    assert "fewer with --gold," in str(said.value)
    with pytest.raises(DataError, match=r"ask for fewer with --items$"):
        run(*given[:-1], "4000", "--gold", "0")
    assert run(*given, "--gold", "0").exit_code == 0


def test_a_report_without_everybody_says_so(place):
    plan = read_plan(place)
    keep(place, [one for one in simulated(plan) if one.rater < 3])
    with pytest.raises(DataError, match=r"raters who are left out \(1, 2\); keep at least one"):
        run("report", place, "--without", "2", "--without", "1")


def test_a_report_in_every_form(place, tmp_path):
    with pytest.raises(DataError, match="no audited item was rated yet"):
        run("report", place)
    keep(place, simulated(read_plan(place)))
    for name, words in (
        ("a.md", "# Human audit"),
        ("a.html", "<!DOCTYPE html>"),
        ("a.tex", r"\begin{tabular}"),
    ):
        assert run("report", place, "--out", tmp_path / name).exit_code == 0
        assert words in (tmp_path / name).read_text("utf-8")
    body = json.loads(run("report", place, "--json").stdout)
    assert body["title"] == "Human audit"
    assert any(table["title"] == "Every item" for table in body["tables"])
    shown = run("report", place, "--without", "3")
    assert "naturalness" in shown.stdout and "rater 3" not in shown.stdout.split("Gold items")[0]
    for wrong in (tmp_path / "a.pdf", tmp_path / "missing" / "a.md"):
        with pytest.raises(DataError, match=r"ends in none|cannot be written"):
            run("report", place, "--out", wrong)


def test_status_and_export(place, tmp_path):
    plan = read_plan(place)
    keep(place, [one for one in simulated(plan) if one.rater == 2][:5])
    rows = json.loads(run("status", place, "--json").stdout)
    assert [(row["rater"], row["rated"], row["of"]) for row in rows] == [
        (1, 0, 24),
        (2, 5, 24),
        (3, 0, 24),
    ]
    out = tmp_path / "ratings.jsonl"
    assert json.loads(run("export", place, out, "--json").stdout)["ratings"] == 5
    assert all("comment" not in json.loads(line) for line in out.read_text().splitlines())


def test_a_machine_that_others_reach_needs_an_address(place):
    with pytest.raises(DataError, match="say by which address with --url"):
        run("serve", place, "--host", "0.0.0.0", "--port", "0")


def serve(place):
    command = [sys.executable, "-m", "scaleqa", "audit", "serve", place, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = "".join(iter(lambda: process.stdout.readline(), "}\n"))
    return process, re.search(r"http://[\d.:]+", said)[0]


@pytest.mark.slow  # two servers are started
def test_a_server_that_is_killed_loses_nothing_and_links_stay(place):
    plan = read_plan(place)
    (invited,) = json.loads(run("invite", place, "--raters", "1", "--json").stdout)
    path = re.sub(r"^http://[^/]+", "", invited["link"])
    process, url = serve(place)
    try:
        rated = 0
        for place_number in range(1, 6):
            with httpx.Client(base_url=url, follow_redirects=True, headers=SAME) as client:
                client.get(path)  # another device each time
                page = client.get(f"/rater-1/items/{place_number}").text
                hidden = dict(re.findall(r'name="(form|base)" value="([^"]*)"', page))
                values = careful(plan.item(1, place_number))
                sent = {
                    **hidden,
                    **{name: str(point) for name, point in values.scales.items()},
                    "answer": values.answer or "",
                    "cues": [*values.cues],
                    "primary": values.primary or "",
                }
                answer = client.post(f"/rater-1/items/{place_number}", data=sent)
                assert answer.status_code == 200
                rated += 1
            if place_number == 3:
                process.kill()
                process.wait()
                process.stdout.close()
                process, url = serve(place)
        with httpx.Client(base_url=url, follow_redirects=True) as client:
            assert f"{rated} of 24 rated" in client.get(path).text
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    rows = json.loads(run("status", place, "--json").stdout)
    assert rows[0]["rated"] == 5
