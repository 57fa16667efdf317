"""Raters at work: nothing lost, nothing twice, nothing silently replaced, nothing told."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from scaleqa.audit.book import Book, Line, StaleError, rating, read_judgements
from scaleqa.audit.files import RATINGS
from scaleqa.audit.invitations import PLACE, Raters, invite, number
from scaleqa.audit.items import Origin
from scaleqa.audit.judgements import Values
from scaleqa.audit.serving import opened
from scaleqa.audit.views import Views
from scaleqa.audit.wording import languages
from scaleqa.desk import Desk, create_app, new_id
from scaleqa.errors import DataError
from tests.support.audits import careful, small_audit

HOME = "http://127.0.0.1:8780"
SAME = {"sec-fetch-site": "same-origin"}


class Rater:
    """Somebody with a link, who uses it like a browser without script."""

    def __init__(self, app, number, token):
        self.base = f"/rater-{number}"
        self.client = TestClient(app, base_url=HOME, follow_redirects=False)
        answer = self.client.get(f"{self.base}/?token={token}")
        assert answer.status_code == 303

    def get(self, path):
        return self.client.get(self.base + path)

    def post(self, path, data):
        return self.client.post(self.base + path, data=data, headers=SAME)

    def form(self, place):
        page = self.get(f"/items/{place}").text
        return {name: hidden(page, name) for name in ("form", "base")}


def hidden(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', page)[1]


def fields(values):
    given = {
        **{name: str(value) for name, value in values.scales.items()},
        "answer": values.answer,
        "cues": [*values.cues],
        "primary": values.primary,
        "comment": values.comment,
        "seconds": "41",
    }
    return {name: value for name, value in given.items() if value}


@pytest.fixture
def audit(tmp_path):
    plan = small_audit(tmp_path)
    tokens = invite(tmp_path, plan, raters=3)
    with opened(tmp_path) as app:
        yield tmp_path, plan, tokens, app


@pytest.fixture
def rater(audit):
    _, _, tokens, app = audit
    return Rater(app, 1, tokens[1])


def lines(directory):
    path = directory / RATINGS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def rate(rater, plan, place, who=1, **changes):
    item = plan.item(who, place)
    values = careful(item).model_copy(update=changes)
    return rater.post(f"/items/{place}", {**rater.form(place), **fields(values)})


def test_an_audit_from_the_first_item_to_the_last(audit, rater):
    directory, plan, _, _ = audit
    total = len(plan.orders[0])
    assert f"0 of {total} rated" in rater.get("/").text
    place = 1
    for done in range(1, total + 1):
        answer = rate(rater, plan, place)
        assert answer.status_code == 303
        where = answer.headers["location"]
        if done < total:
            place = int(where.rpartition("/")[2])
    assert where == "/rater-1/"
    assert "All items are rated" in rater.get("/").text
    said = read_judgements(directory, plan)
    assert [(one.item.id, one.values) for one in said] == [
        (name, careful(plan.by_id[name])) for name in sorted(plan.orders[0])
    ]
    assert {one.seconds for one in said} == {41.0}


def test_what_a_rater_sees_depends_on_nothing_but_what_may_be_shown(audit):
    """The page of an item is the same bytes if everything else about it is another."""
    directory, plan, tokens, _ = audit

    def pages_of(other):
        book = Book(directory, other)
        desk = Desk(
            title="t", people=Raters(directory), pages=Views(other, book).pages(),
            package="scaleqa.audit",
        )  # fmt: skip
        seen = Rater(create_app(desk), 1, tokens[1])
        found = [
            re.sub(r'name="form" value="[0-9a-f]{32}"', "", seen.get(f"/items/{place}").text)
            for place in range(1, len(other.orders[0]) + 1)
        ]
        book.close()
        return found

    masked = [
        item.model_copy(
            update={
                "origin": Origin(source="elsewhere", ref=f"x{n}", domain="d", split="s"),
                "id": f"{n:012x}",
                "answer": "A" if item.answer else None,
                "known": item.known and item.known.model_copy(update={"answer": "A"}),
                "purpose": item.purpose,
            }
        )
        for n, item in enumerate(plan.items)
    ]
    renamed = dict(zip((i.id for i in plan.items), masked, strict=True))
    other = plan.model_copy(
        update={
            "items": tuple(masked),
            "orders": tuple(tuple(renamed[n].id for n in order) for order in plan.orders),
        }
    )
    other.__dict__.pop("by_id", None)
    pages = pages_of(plan)
    assert pages == pages_of(other)
    for item in plan.items:
        for page in pages:
            assert item.id not in page and item.origin.ref not in page
            assert f">{item.origin.source}<" not in page
    whole = "".join(pages)
    assert "gold" not in whole and "attention item" not in whole and "corpus" not in whole


def test_chats_are_asked_about_naturalness_alone(audit, rater):
    _, plan, _, _ = audit
    forms = {plan.item(1, place).form: place for place in range(1, len(plan.orders[0]) + 1)}
    chat = rater.get(f"/items/{forms['chat']}").text
    assert 'name="naturalness"' in chat
    for name in ("answerability", "ambiguity", "plausibility", "answer", "primary", "cues"):
        assert f'name="{name}"' not in chat
    question = rater.get(f"/items/{forms['open']}").text
    assert 'name="answerability"' in question and 'name="answer"' not in question
    assert 'name="answer"' in rater.get(f"/items/{forms['choice']}").text


def test_what_is_not_asked_is_not_kept(audit, rater):
    directory, plan, _, _ = audit
    place = next(p for p in range(1, 33) if plan.item(1, p).form == "chat")
    sent = {**rater.form(place), "naturalness": "4", "answer": "B", "primary": "none"}
    assert rater.post(f"/items/{place}", sent).status_code == 303
    assert lines(directory)[-1]["values"] == Values(scales={"naturalness": 4}).model_dump(
        mode="json"
    )


@pytest.mark.parametrize(
    ("lacking", "named"),
    [
        ({"answer": None}, "field-answer"),
        ({"scales": {"naturalness": 3}}, "field-ambiguity"),
        ({"primary": None}, "field-primary"),
        ({"primary": "state_overwrite", "cues": ("constraint_trap",)}, "field-cues"),
        ({"primary": "none", "cues": ("constraint_trap",)}, "field-cues"),
    ],
    ids=["answer", "scales", "primary", "primary not seen", "none of some"],
)
def test_an_incomplete_rating_is_not_kept_and_says_what_is_missing(audit, rater, lacking, named):
    directory, plan, _, _ = audit
    place = next(p for p in range(1, 33) if plan.item(1, p).form == "choice")
    answer = rate(rater, plan, place, **lacking)
    assert answer.status_code == 422 and f'href="#{named}"' in answer.text
    assert lines(directory) == []
    assert "checked" in answer.text  # what was filled in is still there


def test_a_second_click_counts_once(audit, rater):
    directory, plan, _, _ = audit
    sent = {**rater.form(1), **fields(careful(plan.item(1, 1)))}
    for seconds in ("41", "42"):
        assert rater.post("/items/1", {**sent, "seconds": seconds}).status_code == 303
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: rater.post("/items/1", sent).status_code, range(8))]
    assert answers == [303] * 8
    assert len(lines(directory)) == 1


def test_a_rating_of_another_tab_is_not_replaced_before_it_is_seen(audit, rater):
    directory, plan, tokens, app = audit
    elsewhere = Rater(app, 1, tokens[1])
    old = rater.form(2)
    values = careful(plan.item(1, 2))
    assert rate(elsewhere, plan, 2).status_code == 303
    mine = {**fields(values), "naturalness": "2"}
    refused = rater.post("/items/2", {**old, **mine})
    assert refused.status_code == 409 and "in another tab" in refused.text
    assert len(lines(directory)) == 1
    again = {name: hidden(refused.text, name) for name in ("form", "base")}
    assert rater.post("/items/2", {**again, **mine}).status_code == 303
    kept = lines(directory)
    assert [one["values"]["scales"]["naturalness"] for one in kept] == [
        values.scales["naturalness"],
        2,
    ]
    assert kept[1]["base"] == kept[0]["id"]
    assert read_judgements(directory, plan)[0].values.scales["naturalness"] == 2


def test_a_form_that_was_sent_and_comes_back_changed_is_not_taken_silently(audit, rater):
    directory, plan, _, _ = audit
    sent = {**rater.form(3), **fields(careful(plan.item(1, 3)))}
    assert rater.post("/items/3", sent).status_code == 303
    assert rater.post("/items/3", {**sent, "naturalness": "1"}).status_code == 409
    assert len(lines(directory)) == 1


def test_what_is_filled_in_is_there_on_another_device(audit, rater):
    directory, plan, tokens, app = audit
    place = next(p for p in range(1, 33) if plan.item(1, p).form == "choice")
    sent = {**rater.form(place), "naturalness": "3", "answer": "C", "comment": "half"}
    assert rater.post(f"/items/{place}/draft", sent).json() == {"saved": True}
    phone = Rater(app, 1, tokens[1])
    page = phone.get(f"/items/{place}").text
    assert re.search(r'name="naturalness" value="3" checked', page)
    assert re.search(r'value="C" data-key="c" checked', page) and ">half</textarea>" in page
    assert '<a class="draft"' in phone.get("/").text
    assert read_judgements(directory, plan) == []  # a draft is no rating
    assert rate(phone, plan, place).status_code == 303
    late = rater.post(f"/items/{place}/draft", {**sent, "naturalness": "1"})
    assert late.json() == {"saved": False}
    assert '<a class="draft"' not in phone.get("/").text


def test_everything_is_there_after_a_restart(audit, tmp_path):
    directory, plan, _, _ = audit
    book = Book(directory, plan)
    item = plan.item(2, 1)
    line = rating(
        form=new_id(), rater=2, item=item, base="", values=careful(item), seconds=99_999.0
    )
    kept = book.rate(line)
    book.close()
    again = Book(directory, plan)
    assert again.rated(2, item.id) == kept and kept.seconds == 3_600.0
    assert again.done(2) == {item.id} and again.done(1) == frozenset()
    again.close()


def test_a_torn_line_was_never_acknowledged(audit):
    directory, plan, _, _ = audit
    item = plan.item(1, 1)
    book = Book(directory, plan)
    book.rate(rating(form=new_id(), rater=1, item=item, base="", values=careful(item), seconds=1))
    book.close()
    with (directory / RATINGS).open("ab") as file:
        file.write(b'{"id": "0123')
    told = []
    again = Book(directory, plan, told=told.append)
    assert again.done(1) == {item.id} and "not finished" in told[0]
    again.close()


def test_ratings_of_another_plan_are_refused(audit):
    directory, plan, _, _ = audit
    line = Line(id=new_id(), at="2026-01-01T00:00:00+00:00", kind="rated", rater=1, item="f" * 12)
    (directory / RATINGS).write_text(line.model_dump_json() + "\n")
    for reader in (Book, read_judgements):
        with pytest.raises(DataError, match="put back the plan"):
            reader(directory, plan)


def test_several_raters_at_once(audit):
    directory, plan, tokens, app = audit
    errors = []

    def work(who):
        someone = Rater(app, who, tokens[who])
        for place in range(1, 9):
            if rate(someone, plan, place, who=who).status_code != 303:
                errors.append((who, place))

    threads = [threading.Thread(target=work, args=(who,)) for who in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    said = read_judgements(directory, plan)
    assert len(said) == 24
    assert all(one.values == careful(one.item) for one in said)


WRITER = """
import sys
from pathlib import Path
from scaleqa.audit.book import Book, rating
from scaleqa.audit.files import read_plan
from scaleqa.desk import new_id
from tests.support.audits import careful
place = Path(sys.argv[1])
plan = read_plan(place)
book = Book(place, plan)
for turn in range(1000):
    for name in plan.orders[0]:
        item = plan.by_id[name]
        there = book.rated(1, name)
        kept = book.rate(rating(form=new_id(), rater=1, item=item, base=there.id if there else "",
            values=careful(item).model_copy(update={"comment": str(turn)}), seconds=1))
        print(kept.id, flush=True)
"""


def test_a_killed_server_loses_no_acknowledged_rating(audit):
    directory, plan, _, _ = audit
    command = [sys.executable, "-c", WRITER, directory]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        acknowledged = [writer.stdout.readline() for _ in range(40)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += writer.stdout.readlines()
    whole = [line.decode().strip() for line in acknowledged if line.endswith(b"\n")]
    book = Book(directory, plan)
    book.close()
    kept = [one["id"] for one in lines(directory)]
    assert len(whole) >= 40 and kept[: len(whole)] == whole


def test_tokens_are_kept_as_hashes_alone(audit):
    directory, _, tokens, _ = audit
    assert len(tokens) == 3 and len({*tokens.values()}) == 3
    for path in directory.rglob("*"):
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0
            for token in tokens.values():
                assert token.encode() not in path.read_bytes()


def test_only_the_link_of_a_rater_leads_to_their_pages(audit, rater):
    _, _, tokens, app = audit
    stranger = TestClient(app, base_url=HOME, follow_redirects=False)
    for path in ("/rater-1/", f"/rater-1/?token={tokens[2]}", "/rater-1/items/1", "/rater-9/",
                 f"/rater-01/?token={tokens[1]}", "/rater-1/?token=", "/nobody/"):  # fmt: skip
        assert stranger.get(path).status_code == 403, path
    assert rater.client.get("/rater-2/").status_code == 403
    sent = {"form": new_id(), "base": "", "naturalness": "3"}
    cross = rater.client.post(
        "/rater-1/items/1", data=sent, headers={"sec-fetch-site": "cross-site"}
    )
    assert cross.status_code == 403
    policy = rater.get("/items/1").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_a_replaced_link_ends_at_once_and_its_ratings_stay(audit, rater):
    directory, plan, tokens, app = audit
    assert rate(rater, plan, 1).status_code == 303
    time.sleep(0.01)
    new = invite(directory, plan, raters=3, replace=[1])
    assert [*new] == [1] and new[1] != tokens[1]
    assert rater.get("/").status_code == 403
    assert "1 of" in Rater(app, 1, new[1]).get("/").text


def test_more_raters_than_the_plan_has_are_not_invited(audit):
    directory, plan, _, _ = audit
    with pytest.raises(DataError, match="the plan has 3"):
        invite(directory, plan, raters=4)
    with pytest.raises(DataError, match="rater 7 was not invited"):
        invite(directory, plan, raters=3, replace=[7])
    assert invite(directory, plan, raters=3) == {}
    assert len((directory / PLACE / "invitations.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [("rater-1", 1), ("rater-12", 12), ("rater-01", None), ("rater-", None), ("1", None),
     ("rater-٣", None), ("rater-1234567", None)],
    ids=["one", "twelve", "zero before", "none", "digit alone", "other digits", "long"],
)  # fmt: skip
def test_a_rater_has_one_name(name, expected):
    assert number(name) == expected


@pytest.mark.parametrize(
    "sent",
    [
        {"form": "short"},
        {"base": "x"},
        {"naturalness": "6"},
        {"answer": "E"},
        {"primary": "luck"},
        {"comment": "x" * 2001},
        {"naturalness": "٣٣"},
        {"naturalness": "x"},
        {"naturalness": "9" * 5000},
    ],
    ids=["form", "base", "scale", "answer", "primary", "comment", "digits", "word", "long"],
)
def test_what_no_page_sends_is_refused(audit, rater, sent):
    directory, plan, _, _ = audit
    place = next(p for p in range(1, 33) if plan.item(1, p).form == "choice")
    given = {**rater.form(place), **fields(careful(plan.item(1, place))), **sent}
    assert rater.post(f"/items/{place}", given).status_code == 400
    assert lines(directory) == []


@pytest.mark.parametrize("place", ["0", "33", "x", "٣", "99999999999"])
def test_places_that_do_not_exist_are_said(rater, place):
    answer = rater.get(f"/items/{place}")
    assert answer.status_code == 400 and "items 1 to 32" in answer.text


def test_every_language_has_every_text():
    texts = languages()
    assert [*texts] == ["en", "de", "es", "zh"]
    for name, some in texts.items():
        assert {*some} == {*texts["en"]}, name
        assert all(value.strip() for value in some.values())
        for key, value in texts["en"].items():
            assert {*re.findall(r"{\w+}", some[key])} == {*re.findall(r"{\w+}", value)}, (name, key)
        if name != "en":
            same = [key for key in some if some[key] == texts["en"][key]]
            assert len(same) <= 1, (name, same)  # "Person" is German, too


def test_every_text_is_used_and_every_text_that_is_used_is_there():
    from importlib import resources

    place = resources.files("scaleqa.audit") / "templates"
    source = "".join(one.read_text("utf-8") for one in place.iterdir())
    named = {*re.findall(r'texts\.(\w+)|texts\["(\w+)"\]', source)}
    named = {one or other for one, other in named} | {
        "title", "name", "state_rated", "state_draft", "state_open", "user", "model",
        "state_overwrite", "long_range_bridge", "constraint_trap",
        *(f"{s}{e}" for s in ("naturalness", "answerability", "ambiguity", "plausibility")
          for e in ("", "_low", "_high")),
    }  # fmt: skip
    assert named - {"format"} == {*languages()["en"]}


def test_the_language_is_kept_for_all_devices(audit, rater):
    _, _, tokens, app = audit
    assert '<html lang="en">' in rater.get("/").text
    answer = rater.post("/language", {"language": "de", "place": "4"})
    assert answer.headers["location"] == "/rater-1/items/4"
    page = Rater(app, 1, tokens[1]).get("/items/4").text
    assert '<html lang="de">' in page and "Ihre Bewertung" in page
    assert '<html lang="en">' in Rater(app, 2, tokens[2]).get("/").text
    assert rater.post("/language", {"language": "xx"}).status_code == 400
    for name in languages():
        rater.post("/language", {"language": name})
        for path in ("/", "/items/1"):
            found = rater.get(path).text
            assert f'<html lang="{name}">' in found and "{place}" not in found


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr-FR, fr;q=0.9, es;q=0.4, en;q=0.3", "es"),
        ("en;q=0.2, zh-Hans-CN", "zh"),
        ("de;q=0, es;q=0.1", "es"),
        ("fr, *;q=0.5", "en"),
        ("de;q=x, ;;, ES ;q=0.5", "es"),
        ("", "en"),
    ],
    ids=["region", "first of ours", "by weight", "unwanted", "any", "damaged", "none"],
)
def test_a_first_visit_is_in_a_language_that_the_browser_asks_for(rater, header, expected):
    rater.client.headers["accept-language"] = header
    for path in ("/", "/items/1"):
        assert f'<html lang="{expected}">' in rater.get(path).text


def test_a_chosen_language_wins_over_the_browser(audit, rater):
    _, _, tokens, app = audit
    rater.post("/language", {"language": "en"})
    other = Rater(app, 1, tokens[1])
    other.client.headers["accept-language"] = "de"
    assert '<html lang="en">' in other.get("/").text


def test_a_wrong_link_tells_raters_whom_to_ask(audit):
    _, _, _, app = audit
    client = TestClient(app, base_url=HOME, follow_redirects=False)
    page = client.get("/rater-1/?token=0000").text
    assert "ask whoever gave it to you for a new one" in page and "started" not in page


def test_texts_of_others_are_harmless(tmp_path):
    nasty = "<script>alert(1)</script>\x1b[2J{{ 7 * 7 }}"
    plan = small_audit(tmp_path)
    items = tuple(
        item.model_copy(update={"dialogue": (item.dialogue[0].model_copy(update={"text": nasty}),)})
        for item in plan.items
    )
    (tmp_path / "plan.json").write_text(plan.model_copy(update={"items": items}).model_dump_json())
    tokens = invite(tmp_path, plan, raters=1)
    with opened(tmp_path) as app:
        page = Rater(app, 1, tokens[1]).get("/items/1").text
    assert "<script>alert" not in page and "\x1b" not in page and "{{ 7 * 7 }}" in page


def test_other_machines_reach_it_by_the_address_that_was_named(audit, tmp_path_factory):
    place = tmp_path_factory.mktemp("audit")
    plan = small_audit(place)
    tokens = invite(place, plan, raters=1)
    with opened(place, url="https://audit.example.org") as app:
        client = TestClient(app, base_url="https://audit.example.org", follow_redirects=False)
        answer = client.get(f"/rater-1/?token={tokens[1]}")
        assert answer.status_code == 303 and "secure" in answer.headers["set-cookie"].lower()
        assert client.get("/rater-1/").status_code == 200
        assert client.get("/rater-1/", headers={"host": "evil.example"}).status_code == 403
    for wrong in ("audit.example.org", "ftp://x", "https://", "https://a.b/path", "http://[x"):
        with pytest.raises(DataError, match="without a path"), opened(place, url=wrong):
            pass


def test_an_audit_is_served_once_at_a_time(audit):
    directory, _, _, _ = audit
    with pytest.raises(DataError, match="served already"), opened(directory):
        pass


def test_an_entry_about_another_version_is_stale(audit):
    directory, plan, _, _ = audit
    item = plan.item(1, 1)
    book = Book(directory, plan)
    made = {"rater": 1, "item": item, "values": careful(item), "seconds": None}
    book.rate(rating(form=new_id(), base="", **made))
    with pytest.raises(StaleError):
        book.rate(rating(form=new_id(), base="", **made))
    book.close()
