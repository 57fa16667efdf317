"""The inspector in a real browser: slider, keyboard, colours, phones, nothing from elsewhere."""

import re

import pytest

from tests.support.browser import CONTRAST, LOOKS, UNNAMED, wait, watched
from tests.support.inspecting import WordEmbedder
from tests.support.served import make_key, served
from tests.tsim.server.test_inspector import NASTY, talk
from tsim import Memory, NewTurn
from tsim.server.access import Scope

THREAD = "/inspector/thread?thread=t"


def woven(count):
    """Three conversations at a time, turn by turn; each has eight turns."""
    return [
        NewTurn(
            role=("user", "model")[n // 3 % 2],
            text=" ".join(f"word{n % 3 + 3 * (n // 24)}x{k}" for k in range(9)) + f" {n}",
        )
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    made = tmp_path_factory.mktemp("memories")
    remember(made, "t", [*talk(60), NewTurn(role=NASTY[:40], text=NASTY)])
    remember(made, "woven", woven(240))
    return made


@pytest.fixture(scope="module")
def address(place):
    with served(place, embedder=WordEmbedder()) as found:
        yield found


def remember(place, thread, turns):
    with Memory.open(place / "default.db", model=WordEmbedder()) as memory:
        memory.thread(thread).add_many(turns)


def left(place, thread):
    with Memory.open(place / "default.db", model=WordEmbedder()) as memory:
        return [turn.id for turn in memory.thread(thread)]


@pytest.fixture
def open_page(browser, address):
    """Opens pages; what they complain about, or ask of others, fails the test."""
    with watched(browser, address) as opened:
        yield opened


def blocks(page):
    return page.locator("a.block").count()


def test_the_slider_redraws_the_map(open_page):
    page = open_page()
    page.goto(THREAD)
    before = blocks(page)
    slider = page.locator("input[type=range]")
    slider.focus()
    slider.press("Home")
    wait(page, lambda: blocks(page) == 61)
    assert "threshold=0" in page.url
    wait(page, lambda: page.evaluate("document.activeElement.type") == "range")
    page.keyboard.press("End")
    wait(page, lambda: blocks(page) < before)
    assert page.locator("#threshold").input_value() == "1"


def test_without_script_a_number_and_a_button_do_the_same(open_page):
    page = open_page(java_script_enabled=False)
    page.goto(THREAD)
    assert not page.locator("input[type=range]").is_visible()
    page.locator("#threshold").fill("0")
    page.get_by_role("button", name="Redraw").click()
    assert blocks(page) == 61


def test_a_question_is_asked_and_answered_by_keyboard_alone(open_page):
    page = open_page()
    page.goto("/inspector")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "t":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/thread?**")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "query":
            break
    page.keyboard.type("When is the violin lesson?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask?**")
    assert page.locator("article.hit").count() >= 1
    assert "violin" in page.locator("pre[aria-label=Context]").inner_text()


def test_arrows_go_from_block_to_block_and_enter_opens_one(open_page):
    page = open_page()
    page.goto(f"{THREAD}&threshold=0")
    assert page.locator("a.block[tabindex='0']").count() == 1
    page.locator("a.block").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**/turns?**")
    assert "Turns 2–2" in page.locator("h1").inner_text()


def test_interleaved_conversations_are_drawn_in_lanes(open_page):
    page = open_page()
    page.goto(PAGES["braid"])
    assert page.locator("circle.node").count() == 120
    rows = {node.get_attribute("cy") for node in page.locator("circle.node").all()}
    assert len(rows) >= 3 and page.locator("path.reply").count() > 60
    page.locator(".braid a").nth(5).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/turn?thread=woven&turn=65")
    page.goto(PAGES["woven"])
    assert page.locator("circle.halo").count() >= 3


def test_a_key_is_typed_once_and_logging_out_forgets_it(browser, tmp_path):
    remember(tmp_path, "t", talk(6))
    token = make_key(tmp_path, "default", Scope.READ)["Authorization"].removeprefix("Bearer ")
    with served(tmp_path, embedder=WordEmbedder(), keys=True) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()
        page.goto(THREAD)
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        assert "unknown" in page.get_by_role("alert").inner_text()
        page.get_by_label("Key").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{THREAD}")
        assert page.locator("a.block").count() >= 1
        (cookie,) = context.cookies()
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login")
        assert context.cookies() == []
        page.goto("/inspector")
        assert page.get_by_label("Key").is_visible()
        context.close()


def test_turns_are_chosen_previewed_and_forgotten(open_page, place):
    remember(place, "gone", talk(12))
    page = open_page()
    page.goto("/inspector/turns?thread=gone")
    page.get_by_label("Choose turn 3").check()
    page.get_by_label("Choose turn 4").check()
    page.get_by_role("button", name="Forget the chosen turns…").click()
    assert "Forget 2 turns?" in page.locator("h1").inner_text()
    assert len(left(place, "gone")) == 12
    page.get_by_role("button", name="Forget 2 turns for good").click()
    assert "2 turns are gone" in page.locator("[role=status]").inner_text()
    page.reload()
    assert "2 turns are gone" in page.locator("[role=status]").inner_text()
    assert left(place, "gone") == [n for n in range(12) if n not in (3, 4)]


def test_a_form_sent_from_another_origin_is_refused(browser, address, place):
    remember(place, "kept", talk(6))
    context = browser.new_context()
    page = context.new_page()
    form = (
        f'<form method="post" action="{address}/inspector/forget">'
        '<input name="thread" value="kept"><input name="turns" value="1">'
        '<input name="token" value="1.0"><button>go</button></form>'
    )
    page.set_content(form)
    with page.expect_navigation() as moved:
        page.get_by_role("button").click()
    assert moved.value.status == 403
    assert len(left(place, "kept")) == 6
    context.close()


PAGES = {
    "threads": "/inspector",
    "map": THREAD,
    "zoomed": f"{THREAD}&threshold=0.5&first=10&last=40",
    "turns": "/inspector/turns?thread=t&first=50",
    "ask": "/inspector/ask?thread=t&query=When+is+the+violin+lesson",
    "compare": "/inspector/compare?thread=t&query=When+is+the+violin+lesson",
    "braid": "/inspector/braid?thread=woven&first=60",
    "woven": "/inspector/ask?thread=woven&query=word30x1+word30x2+word30x5",
    "forget": "/inspector/forget?thread=t&turns=1-3",
}


@pytest.mark.parametrize("look", LOOKS)
def test_pages_fit_their_width_and_can_be_read(open_page, look, tmp_path):
    page = open_page(**LOOKS[look])
    for name, path in PAGES.items():
        page.goto(path)
        for one in page.locator("details").all():
            one.evaluate("element => { element.open = true; }")
        width = LOOKS[look]["viewport"]["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        least = page.evaluate(CONTRAST)
        assert least["ratio"] >= 4.5, (name, least)
        page.screenshot(path=tmp_path / f"{name}-{look}.png")


def test_everything_has_a_name_and_focus_is_seen(open_page):
    page = open_page()
    for name, path in PAGES.items():
        page.goto(path)
        unnamed = page.evaluate(UNNAMED)
        assert unnamed == [], name
    page.keyboard.press("Tab")
    assert re.search("Skip", page.evaluate("document.activeElement.textContent"))
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
