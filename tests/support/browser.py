"""A real browser, and pages of it whose complaints and requests to others fail the test."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
}
# The lowest contrast of text with what is behind it, over all elements that have text.
CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
# What a browser notes of an answer that a test asks for: a page that says what is wrong.
REFUSED = "Failed to load resource: the server responded with a status of 4"
# Elements to act with that have no name.
UNNAMED = """() => [
    ...document.querySelectorAll("svg, input:not([type=hidden]), textarea, select, button, a")]
    .filter(e => !e.closest("[aria-hidden]") && !e.closest("[hidden]"))
    .filter(e => !e.getAttribute("aria-label") && !e.textContent.trim() && !e.labels?.[0])
    .map(e => e.outerHTML.slice(0, 120))"""


@contextmanager
def launched() -> Iterator[Any]:
    """Starts a browser; skips the test if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or CHROMIUM
    if not Path(chromium).exists():
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def watched(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Yields what opens pages, each in a context of its own; options are those of the context."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def check(url: str) -> None:
        if urlsplit(url).netloc != urlsplit(address).netloc:
            wrong.append(url)

    def note(text: str) -> None:
        if not text.startswith(REFUSED):
            wrong.append(text)

    def opened(**options: Any) -> Any:
        context = browser.new_context(base_url=address, **options)
        contexts.append(context)
        context.on("page", listen)
        return context.new_page()

    def listen(page: Any) -> None:
        page.set_default_timeout(15_000)
        page.on("console", lambda message: note(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: check(request.url))

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def wait(page: Any, condition: Callable[[], object]) -> None:
    """Waits until something holds; the policy of the pages lets no string be evaluated in them."""
    for _ in range(300):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not happen within 15 s")
