"""The review desk in a real browser: keys alone, live checks, tabs, looks, hostile texts."""

import json

import pytest

from tests.scaleqa.review.test_desk import NASTY
from tests.support.browser import CONTRAST, LOOKS, UNNAMED, wait, watched
from tests.support.desks import serving_desk
from tests.support.records import make
from tests.support.reviewing import reviewing

RECORDS = [
    make(1, question=NASTY, reasoning=NASTY, options={k: f"{NASTY} {k}" for k in "ABCD"}),
    *(make(n) for n in range(2, 30)),
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A review of everybody; each test takes records of its own."""
    place = tmp_path_factory.mktemp("review")
    people = {"reviewers": ("ana", "ben"), "adjudicator": "eva", "each": 2, "blind": True}
    with reviewing(place, RECORDS, **people) as served, serving_desk(served.app) as url:
        yield place, url, served.people


@pytest.fixture
def open_page(browser, desk):
    _, url, people = desk
    with watched(browser, url) as opened:

        def entered(name="ana", **options):
            page = opened(**options)
            page.goto(people.links(url)[name])
            return page

        yield entered


def decisions(desk):
    return [json.loads(line) for line in (desk[0] / "decisions.jsonl").read_text().splitlines()]


def ready(page):
    """Waits until keys are listened to."""
    page.locator("html[data-ready]").wait_for(state="attached")


def choose(page, number, letter="A"):
    page.goto(f"/ana/records/{number}")
    page.get_by_role("button", name=letter).first.click()
    page.locator(".given").first.wait_for()
    page.wait_for_load_state()


def test_records_are_decided_by_keys_alone(open_page, desk):
    page = open_page()
    page.keyboard.press("Enter")  # the first button has the focus
    page.wait_for_url("**/records/*")
    ready(page)
    begun = len(decisions(desk))
    for keys in (["1", "a"], ["2", "r", "6"], ["3", "m", "good", "Escape", "o"], ["s"]):
        before = page.url
        for key in keys:
            if key == "good":
                page.keyboard.type(key)
                continue
            page.keyboard.press(key)
            if key == keys[0] and key.isdigit():
                page.locator(".given").first.wait_for()
                ready(page)
        wait(page, lambda was=before: page.url != was and "done=" in page.url)
        ready(page)
    page.keyboard.press("u")
    wait(page, lambda: "done=" not in page.url)
    made = [(one["action"], one["reason"], one["note"]) for one in decisions(desk)[begun:]]
    assert [one for one in made if one[0] != "choose"] == [
        ("accept", None, ""),
        ("reject", "duplicate", ""),
        ("second", None, "good"),
        ("skip", None, ""),
        ("undo", None, ""),
    ]


def test_keys_do_nothing_while_somebody_writes_or_when_they_are_off(open_page, desk):
    page = open_page()
    choose(page, 10)
    begun = len(decisions(desk))
    page.get_by_label("Note").focus()
    page.keyboard.type("a reason so")
    assert page.get_by_label("Note").input_value() == "a reason so"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Single-key shortcuts").click()
    page.keyboard.press("a")
    page.reload()
    assert "off" in page.get_by_role("button", name="Single-key shortcuts").inner_text()
    assert len(decisions(desk)) == begun


def test_an_edit_is_checked_while_it_is_written(open_page, desk):
    page = open_page()
    choose(page, 11)
    page.keyboard.press("e")
    page.wait_for_url("**/edit?**")
    question = page.locator("[name=question]")
    question.fill("Do you remember the cable?")
    wait(page, lambda: "memory-probe" in page.locator("#checked").inner_text())
    question.fill("Which cable is it now?")
    wait(page, lambda: "It can be kept" in page.locator("#checked").inner_text())
    assert page.locator("#checked ins").count() >= 1
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**done=*")
    last = decisions(desk)[-1]
    assert last["action"] == "edit" and last["edited"]["question"] == "Which cable is it now?"
    assert [change["field"] for change in last["changes"]] == ["question"]


def test_a_double_click_counts_once(open_page, desk):
    page = open_page()
    choose(page, 12)
    begun = len(decisions(desk))
    page.get_by_role("button", name="Accept").dblclick()
    page.wait_for_url("**done=*")
    assert len(decisions(desk)) == begun + 1


def test_two_tabs_do_not_overwrite_each_other(open_page, desk):
    first = open_page()
    choose(first, 13)
    second = first.context.new_page()
    second.goto("/ana/records/13")
    second.get_by_label("Note").fill("what I thought")
    first.get_by_role("button", name="Accept").click()
    first.wait_for_url("**done=*")
    begun = len(decisions(desk))
    with second.expect_navigation() as moved:
        second.get_by_role("button", name="Second opinion").click()
    assert moved.value.status == 409
    assert "Nothing was overwritten" in second.get_by_role("alert").inner_text()
    assert "what I thought" in second.locator("main").inner_text()
    second.keyboard.press("Enter")
    second.wait_for_url("**/records/13")
    assert "accept" in second.locator(".note").first.inner_text()
    assert len(decisions(desk)) == begun


def test_everything_works_without_script(open_page, desk):
    page = open_page(java_script_enabled=False)
    choose(page, 14)
    page.get_by_label("Note").fill("said before")
    page.get_by_role("button", name="Edit").click()
    assert page.locator("[name=note]").input_value() == "said before"
    page.get_by_label("Option B").fill("another one")
    page.get_by_role("button", name="Keep the edit").click()
    page.wait_for_url("**done=*")
    page.get_by_role("button", name="Undo").first.click()
    page.wait_for_url("**/records/14")
    page.locator("summary", has_text="Reject").click()
    page.get_by_role("button", name="Unnatural").click()
    page.wait_for_url("**done=*")
    assert [one["action"] for one in decisions(desk)[-3:]] == ["edit", "undo", "reject"]


def test_an_adjudicator_settles_a_dispute(open_page, desk):
    ana, ben = open_page("ana"), open_page("ben")
    choose(ana, 15)
    ana.keyboard.press("a")
    ana.wait_for_url("**done=*")
    ben.goto("/ben/records/15")
    ben.keyboard.press("2")
    ben.locator(".given").first.wait_for()
    assert "ana" not in ben.locator("body").inner_text()
    ben.keyboard.press("r")
    ben.keyboard.press("5")
    ben.wait_for_url("**done=*")
    eva = open_page("eva")
    eva.keyboard.press("n")
    eva.wait_for_url("**/records/15")
    said = eva.locator("main").inner_text()
    assert "ana chose A" in said and "reject: shortcut" in said
    eva.keyboard.press("a")
    eva.wait_for_url("**done=*")
    assert decisions(desk)[-1]["person"] == "eva"


@pytest.mark.parametrize("look", LOOKS)
def test_pages_fit_their_width_can_be_read_and_name_everything(open_page, look, tmp_path):
    page = open_page(**LOOKS[look])
    if look == "light":
        choose(page, 16)
    for path in ("", "records", "records/1", "records/16", "records/16/edit", "records/x"):
        page.goto(f"/ana/{path}")
        for one in page.locator("details").all():
            one.evaluate("element => { element.open = true; }")
        width = LOOKS[look]["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        least = page.evaluate(CONTRAST)
        assert least["ratio"] >= 4.5, (path, least)
        assert page.evaluate(UNNAMED) == [], path
        page.screenshot(path=tmp_path / f"{path.replace('/', '-')}-{look}.png")
    page.goto("/ana/records/16")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
