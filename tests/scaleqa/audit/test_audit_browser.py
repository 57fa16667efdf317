"""Raters in a real browser: keyboard, phone, colours, two tabs, two devices, no script."""

import re

import pytest

from scaleqa.audit.book import read_judgements
from scaleqa.audit.invitations import invite, link
from scaleqa.audit.serving import opened
from tests.support.audits import careful, small_audit
from tests.support.browser import CONTRAST, LOOKS, UNNAMED, wait, watched
from tests.support.desks import serving_desk

SMALLEST = 24  # CSS pixels of what is touched, by WCAG 2.5.8


@pytest.fixture
def audit(tmp_path):
    plan = small_audit(tmp_path)
    tokens = invite(tmp_path, plan, raters=3)
    with opened(tmp_path) as app, serving_desk(app) as url:
        links = {rater: link(url, rater, token) for rater, token in tokens.items()}
        yield tmp_path, plan, links, url


@pytest.fixture
def open_page(browser, audit):
    with watched(browser, audit[3]) as opened_page:
        yield opened_page


def place_of(plan, form):
    return next(p for p in range(1, 33) if plan.item(1, p).form == form)


def fill(page, values):
    for scale, point in values.scales.items():
        page.locator(f'input[name="{scale}"][value="{point}"]').check()
    if values.answer:
        page.locator(f'input[name="answer"][value="{values.answer}"]').check()
    for cue in values.cues:
        page.locator(f'input[name="cues"][value="{cue}"]').check()
    if values.primary:
        page.locator(f'input[name="primary"][value="{values.primary}"]').check()


def test_an_item_is_rated_by_keyboard_alone(audit, open_page):
    directory, plan, links, _ = audit
    page = open_page()
    page.goto(links[1])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.goto(f"/rater-1/items/{place_of(plan, 'choice')}")
    page.keyboard.press("b")
    for digit in "4513":
        page.keyboard.press(digit)
    assert page.evaluate("document.activeElement.name") == "plausibility"
    names = []
    for _ in range(6):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.name"))
        if names[-1] == "cues":
            page.keyboard.press("Space")
            break
    assert names[-1] == "cues"
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "primary":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: not url.endswith(f"/{place_of(plan, 'choice')}"))
    (said,) = read_judgements(directory, plan)
    assert said.values.answer == "B"
    assert [*said.values.scales.values()] == [4, 5, 1, 3]
    assert said.values.primary == said.values.cues[0] == "state_overwrite"
    assert said.seconds is not None and said.seconds < 60


def test_the_order_of_a_screen_reader_is_that_of_the_work(audit, open_page):
    _, plan, links, _ = audit
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place_of(plan, 'choice')}")
    heads = page.locator("main h1, main h2, main legend").all_inner_texts()
    assert heads[:4] == [
        f"Item {place_of(plan, 'choice')} of 32",
        "Conversation",
        "Question",
        "Your rating",
    ]
    assert "Which answer" in heads[4] and "natural" in heads[5] and "matters most" in heads[-1]
    groups = page.get_by_role("group")
    assert groups.count() == 7
    assert page.get_by_role("radio", name="4", exact=True).count() == 4
    scale = page.locator("#field-naturalness")
    ends = page.locator(f"#{scale.get_attribute('aria-describedby')}").inner_text()
    assert "1 = artificial" in ends and "5 = completely natural" in ends


def test_a_half_filled_item_is_there_on_another_device(audit, open_page):
    directory, plan, links, _ = audit
    place = place_of(plan, "choice")
    desk, phone = open_page(), open_page(**LOOKS["phone"])
    desk.goto(links[1])
    desk.goto(f"/rater-1/items/{place}")
    desk.locator('input[name="answer"][value="C"]').check()
    desk.locator("textarea").fill("coming back")
    wait(desk, lambda: desk.locator("[data-said]").inner_text() == "Saved as a draft")
    phone.goto(links[1])
    phone.goto(f"/rater-1/items/{place}")
    wait(phone, lambda: phone.locator('input[value="C"]').is_checked())
    assert phone.locator("textarea").input_value() == "coming back"
    assert read_judgements(directory, plan) == []


def test_leaving_at_once_loses_nothing(audit, open_page):
    _, plan, links, _ = audit
    place = place_of(plan, "chat")
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place}")
    page.locator('input[name="naturalness"][value="2"]').check()
    page.get_by_role("link", name="Overview").click()
    page.wait_for_url("**/rater-1/")
    page.goto(f"/rater-1/items/{place}")
    assert page.locator('input[name="naturalness"][value="2"]').is_checked()


def test_two_tabs_do_not_overwrite_each_other_silently(audit, browser):
    """Without the watch on the console, in which a browser notes the refusal."""
    directory, plan, links, url = audit
    place = place_of(plan, "chat")
    context = browser.new_context(base_url=url)
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(links[1])
        page.goto(f"/rater-1/items/{place}")
    for page, point in ((first, 5), (second, 1)):
        page.locator(f'input[name="naturalness"][value="{point}"]').check()
        page.get_by_role("button", name="Save and continue").click()
        page.wait_for_load_state()
    wait(second, lambda: second.get_by_role("alert").count() == 1)
    assert "in another tab" in second.get_by_role("alert").inner_text()
    assert second.locator('input[name="naturalness"][value="1"]').is_checked()
    assert [one.values.scales["naturalness"] for one in read_judgements(directory, plan)] == [5]
    second.get_by_role("button", name="Save and continue").click()
    second.wait_for_url(lambda found: not found.endswith(f"/{place}"))
    assert [one.values.scales["naturalness"] for one in read_judgements(directory, plan)] == [1]
    context.close()


def test_a_double_click_counts_once(audit, open_page):
    directory, plan, links, _ = audit
    place = place_of(plan, "chat")
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place}")
    page.locator('input[name="naturalness"][value="4"]').check()
    page.get_by_role("button", name="Save and continue").dblclick()
    page.wait_for_url(lambda found: not found.endswith(f"/{place}"))
    said = (directory / "ratings.jsonl").read_text()
    assert said.count('"kind":"rated"') == 1


def test_what_is_missing_has_the_focus_and_a_way_there(audit, browser):
    _, plan, links, url = audit
    context = browser.new_context(base_url=url, **LOOKS["light"])
    page = context.new_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place_of(plan, 'choice')}")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_load_state()
    wait(page, lambda: page.evaluate("document.activeElement.getAttribute('role')") == "alert")
    assert page.get_by_role("alert").get_by_role("link").count() == 6
    page.get_by_role("link", name=re.compile("risk")).click()
    box = page.locator("#field-ambiguity").bounding_box()
    assert 0 <= box["y"] < 900
    assert "Please answer this." in page.locator("#field-ambiguity").inner_text()
    assert page.evaluate(CONTRAST)["ratio"] >= 4.5
    context.close()


def test_without_script_everything_works(audit, open_page):
    directory, plan, links, _ = audit
    page = open_page(java_script_enabled=False)
    page.goto(links[1])
    page.get_by_role("link", name="Begin").click()
    for _ in range(2):
        place = int(page.url.rpartition("/")[2])
        fill(page, careful(plan.item(1, place)))
        page.get_by_role("button", name="Save and continue").click()
    said = read_judgements(directory, plan)
    assert [one.values for one in said] == [careful(one.item) for one in said] and len(said) == 2
    page.locator("#tongue").select_option("zh")
    page.get_by_role("button", name="Change").click()
    assert page.locator("html").get_attribute("lang") == "zh"
    assert "第 3 段" in page.locator("h1").inner_text()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_pages_are_legible_named_and_fit(audit, open_page, look, language):
    _, plan, links, _ = audit
    page = open_page(**LOOKS[look])
    page.goto(links[1])
    page.locator("#tongue").select_option(language)
    page.get_by_role("button", name="Change").click()
    for path in ("", f"items/{place_of(plan, 'choice')}", f"items/{place_of(plan, 'chat')}"):
        page.goto(f"/rater-1/{path}")
        assert page.locator("html").get_attribute("lang") == language
        assert page.evaluate(CONTRAST)["ratio"] >= 4.5
        assert page.evaluate(UNNAMED) == []
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} is {wide} pixels too wide"
        sizes = page.evaluate(
            "() => [...document.querySelectorAll('main button, main a.button, .choice, .places a')]"
            ".map(e => Math.min(e.getBoundingClientRect().height, e.getBoundingClientRect().width))"
        )
        assert min(sizes) >= SMALLEST


def test_shortcuts_can_be_switched_off(audit, open_page):
    _, plan, links, _ = audit
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place_of(plan, 'choice')}")
    page.get_by_role("button", name="Single-key shortcuts: on").click()
    page.keyboard.press("b")
    page.keyboard.press("4")
    assert page.locator("input:checked").count() == 0
    page.get_by_role("button", name="Single-key shortcuts: off").click()
    page.keyboard.press("b")
    assert page.locator("input:checked").count() == 1


def test_what_was_filled_in_earlier_is_saved_by_keys_before_anything_has_the_focus(
    audit, open_page
):
    directory, plan, links, _ = audit
    place = place_of(plan, "chat")
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place}")
    page.locator('input[name="naturalness"][value="2"]').check()
    wait(page, lambda: page.locator("[data-said]").inner_text() == "Saved as a draft")
    page.reload()
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda found: not found.endswith(f"/{place}"))
    (said,) = read_judgements(directory, plan)
    assert said.values.scales == {"naturalness": 2}


def test_keys_on_other_buttons_are_not_those_of_the_form(audit, open_page):
    _, plan, links, _ = audit
    page = open_page()
    page.goto(links[1])
    page.goto(f"/rater-1/items/{place_of(plan, 'chat')}")
    page.get_by_role("button", name="Single-key shortcuts").focus()
    page.evaluate(
        "document.addEventListener('submit',"
        " (event) => { window.sent = true; event.preventDefault(); }, true)"
    )
    page.keyboard.press("Control+Enter")
    assert page.evaluate("window.sent === undefined")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+Enter")
    assert page.evaluate("window.sent")
