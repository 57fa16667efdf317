"""The pages of the inspector: what they show, what they keep apart, and how they forget."""

import html
import re
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from tests.support.inspecting import HOME, WordEmbedder, opened
from tsim import AccessError, LimitError, Memory, NewTurn
from tsim.server.access import Scope
from tsim.server.inspector.guarding import LASTS, Tokens
from tsim.server.inspector.rehearsals import Rehearsals
from tsim.server.service import COOKIE

HERE = {"origin": HOME, "sec-fetch-site": "same-origin"}
TOPICS = [
    "the harbour crane lifts copper cable onto the barge",
    "a violin lesson on thursday with mrs lindqvist",
    "bread dough with barley flour rests overnight",
    "the ledger of the chess club lists unpaid fees",
]
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnirts\u202c &amp; {{ 7*7 }}"


def talk(count, start=1_700_000_000.0):
    return [
        NewTurn(
            role=("user", "model")[n % 5 % 2],
            text=f"{TOPICS[n // 5 % len(TOPICS)]}, part {n}",
            at=start + 3600.0 * n,
        )
        for n in range(count)
    ]


def write(service, namespace, thread, turns):
    with service.namespaces.using(namespace, create=True) as memory:
        memory.thread(thread).add_many(turns)


def reading(service, namespace="default"):
    return service.namespaces.using(namespace)


@pytest.fixture
def inspector(tmp_path):
    with opened(tmp_path) as (service, client):
        write(service, "default", "alice/ä b", talk(60))
        yield service, client


@pytest.fixture
def service(inspector):
    return inspector[0]


@pytest.fixture
def client(inspector):
    return inspector[1]


def text_of(answer):
    """The text of a page without its tags."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", answer.text)))


def get(client, path="", status=200, **fields):
    found = client.get(f"/inspector{path}", params=fields or None)
    assert found.status_code == status, found.text
    return found


def test_threads_are_listed_with_turns_and_times_a_page_at_a_time(service, client):
    for n in range(55):
        write(service, "default", f"t{n:02d}", talk(2))
    first = get(client)
    assert "alice/ä b" in text_of(first)
    assert "2023-11-14 – 2023-11-17" in text_of(first)
    assert re.search(r'class="num">60</td>', first.text)
    assert "t48" in first.text and "t50" not in first.text
    (following,) = re.findall(r'href="([^"]+)" rel="next"', first.text)
    second = client.get(html.unescape(following))
    assert "t54" in second.text and "t48" not in second.text


def test_a_time_that_is_not_known_is_not_shown_as_an_end(service, client):
    def said(at):
        return NewTurn(role="user", text="said", at=at)

    for name, times in (("begins", (1e9, None)), ("ends", (None, 1e9)), ("never", (None, None))):
        write(service, "default", name, [said(at) for at in times])
    page = get(client)
    cells = dict(re.findall(r"<bdi>(\w+)</bdi>.*?<td>(.*?)</td>", page.text))
    assert cells == {"begins": "from 2001-09-09", "ends": "until 2001-09-09", "never": "–"}


def test_one_episode_of_one_turn_is_not_several(service, client):
    write(service, "default", "one", talk(1))
    assert "1 episode in 1 turn," in text_of(get(client, "/thread", thread="one"))
    write(service, "default", "one", talk(2))
    form = form_of(get(client, "/forget", thread="one", turns="1"))
    client.post("/inspector/forget", data=form, headers=HERE)
    assert "1 turn here was forgotten" in text_of(get(client, "/thread", thread="one"))


def test_a_key_for_all_namespaces_leads_to_each_of_them(keyed):
    service, client, keys = keyed
    everywhere = service.gate.create(namespace=None, scopes=[Scope.READ])[1]
    for key, seen in ((everywhere, True), (keys["reader"], False)):
        login(client, key)
        for path in ("", "/ns/first"):
            page = get(client, path)
            assert ('href="/inspector/ns/second"' in page.text) is seen


def test_the_only_other_namespace_is_linked_from_an_empty_one(tmp_path):
    with opened(tmp_path) as (service, client):
        write(service, "alice", "t", talk(2))
        page = get(client)
        assert "Other namespaces: alice" in text_of(page)
        assert page.text.count('href="/inspector/ns/alice"') == 2  # in the menu, too


def test_the_address_of_the_server_leads_to_the_inspector(client):
    answer = client.get("/")
    assert answer.status_code == 200 and answer.url.path == "/inspector"


def test_a_namespace_without_a_memory_is_an_empty_list(tmp_path):
    with opened(tmp_path) as (_, client):
        assert "There is no thread yet" in get(client).text
        get(client, "/thread", 404, thread="x")
    assert list(tmp_path.glob("*.db")) == []


def test_a_map_has_a_block_for_each_episode_and_a_threshold_redraws_it(client):
    stored = get(client, "/thread", thread="alice/ä b")
    few = get(client, "/thread", thread="alice/ä b", threshold="1")
    many = get(client, "/thread", thread="alice/ä b", threshold="0")
    blocks = [page.text.count('class="block"') for page in (few, stored, many)]
    assert blocks[0] < blocks[2] == 60
    assert "begun wherever a new topic is at least 0 % likely" in text_of(many)
    assert 'class="level"' in many.text and 'class="level arrived"' in stored.text


def test_a_long_thread_has_blocks_of_several_episodes_that_can_be_opened(service, client):
    write(service, "default", "long", talk(450))
    page = get(client, "/thread", thread="long", threshold="0")
    assert page.text.count('class="block"') == 400
    assert "450 episodes" in text_of(page) and "each of several episodes" in page.text
    assert page.text.count("<tr><th") == 41  # a page of the list, and its head
    inside = re.findall(
        r'<a class="block" href="([^"]+)" aria-label="[^"]+, 2 episodes"', page.text
    )
    zoomed = client.get(html.unescape(inside[0]))
    assert zoomed.text.count('class="block"') == 2
    last = get(client, "/thread", thread="long", threshold="0", page="9")
    assert "part 449" in last.text


def test_a_part_of_a_thread_leads_to_the_parts_around_it(client):
    page = get(client, "/thread", thread="alice/ä b", first="20", last="29", threshold="0")
    assert page.text.count('class="block"') == 10
    assert "(20–29 of 60)" in text_of(page)
    links = [html.unescape(one) for one in re.findall(r'href="([^"]+)"', page.text)]
    assert any("first=10&last=19" in link for link in links)
    assert any("first=30&last=39" in link for link in links)


def test_a_preset_without_probabilities_has_a_map_without_a_slider(service, client, tmp_path):
    with Memory.open(tmp_path / "paper.db", model=WordEmbedder(), preset="official") as memory:
        memory.thread("t").add_many(talk(30))
    page = get(client, "/ns/paper/thread", thread="t")
    assert "gives no probabilities" in page.text and 'type="range"' not in page.text
    assert page.text.count('class="block"') >= 1
    found = get(client, "/ns/paper/ask", thread="t", query="Who has a violin lesson?")
    assert "Terms of the score" in found.text


def test_turns_are_paged(client):
    first = get(client, "/turns", thread="alice/ä b", first="0", last="99")
    assert first.text.count('class="said') == 50
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first.text)
    second = client.get(html.unescape(following))
    assert second.text.count('class="said') == 10
    assert "part 59" in second.text


def test_a_question_shows_spans_reasons_and_the_exact_context(service, client):
    page = get(client, "/ask", thread="alice/ä b", query="When is the violin lesson?", budget="90")
    with reading(service) as memory:
        thread = memory.thread("alice/ä b")
        hits = thread.search("When is the violin lesson?", budget=90)
        context = thread.write(hits)
        tokens = memory.count_tokens(context)
    (shown,) = re.findall(r'<pre[^>]*aria-label="Context">(.*?)</pre>', page.text, re.S)
    assert html.unescape(shown) == context
    words = text_of(page)
    assert f"{tokens} of 90 tokens" in words
    assert tokens <= 90
    assert page.text.count('<article class="hit"') == len(hits)
    assert "violin" in words and "new topic at its start" in words and "cosine" in words
    assert "did not fit" in words


def test_what_is_too_unlikely_is_shown_as_such(client):
    asked = {"thread": "alice/ä b", "query": "When is the violin lesson?", "min_relevance": "1"}
    page = get(client, "/ask", **asked)
    assert "Nothing was found" in page.text
    assert "too unlikely" in page.text and "where 1 was asked for" in text_of(page)


def test_the_rest_of_a_span_does_not_get_the_relevance_of_what_was_found(client):
    asked = {"thread": "alice/ä b", "query": "violin lesson on thursday part 45", "budget": "60"}
    page = get(client, "/ask", **asked)
    near = re.findall(r'<details class="near">.*?</details>', page.text, re.S)
    (rest,) = [one for one in near if "turns 46–50" in one]
    (other,) = [one for one in near if "turn 25" in one]
    assert "did not fit" in rest and "relevance" not in rest
    assert "relevance of &lt;1 %" in other


def test_filters_reach_the_search(client):
    asked = {"thread": "alice/ä b", "query": "violin lesson", "roles": "model"}
    page = get(client, "/ask", **asked)
    roles = set(re.findall(r'class="role"><bdi>(\w+)</bdi>', page.text))
    assert roles == {"model"}


def test_two_presets_are_compared_side_by_side(service, client):
    page = get(client, "/compare", thread="alice/ä b", query="violin lesson", right="official")
    words = text_of(page)
    assert "late" in words and "official" in words and "found by both" in words
    assert "on both sides" in words
    with reading(service) as memory:
        own = memory.thread("alice/ä b").search("violin lesson", budget=1100)
    assert f"{len(own)} span" in words
    get(client, "/compare", 400, thread="alice/ä b", query="x", right="nonsense")


def test_a_comparison_is_of_its_own_namespace(service, client):
    asked = {"thread": "same", "query": "violin lesson", "right": "official"}
    for namespace, word in (("default", "oboe"), ("second", "cello")):
        turns = [NewTurn(role="user", text=f"a violin lesson with {word} {n}") for n in range(9)]
        write(service, namespace, "same", turns)
    assert "cello" not in get(client, "/compare", **asked).text
    second = get(client, "/ns/second/compare", **asked).text
    assert "cello" in second and "oboe" not in second


def test_replays_are_kept_for_some_minutes_and_made_one_at_a_time(service, monkeypatch):
    now = [0.0]
    kept = Rehearsals(lambda: now[0])
    with reading(service) as memory:
        first = kept.of(memory, "default", "alice/ä b", "official")
        assert kept.of(memory, "default", "alice/ä b", "official") is first
        assert kept.of(memory, "other", "alice/ä b", "official") is not first
        now[0] = 301.0
        assert kept.of(memory, "default", "alice/ä b", "official") is not first
        monkeypatch.setattr("tsim.server.inspector.rehearsals.PATIENCE", 0.01)
        with kept._replaying, pytest.raises(LimitError, match="try again"):
            kept.of(memory, "default", "alice/ä b", "official")


def test_a_thread_that_is_too_long_to_compare_says_so(service, client, monkeypatch):
    monkeypatch.setattr("tsim.memory.Memory.rehearse.__kwdefaults__", {"most": 10, "known": None})
    page = get(client, "/compare", 400, thread="alice/ä b", query="violin", right="official")
    assert "at most 10 can be compared" in page.text


def test_a_thread_that_is_not_interleaved_says_so(client):
    page = get(client, "/braid", thread="alice/ä b")
    assert "Nothing is interleaved in this thread" in page.text
    assert page.text.count('<th scope="row">') == 60


def pages_of(client, thread):
    """One page of every kind."""
    name = {"thread": thread}
    asked = {**name, "query": "script alert <b>", "budget": "400"}
    return [
        get(client),
        get(client, "/thread", **name),
        get(client, "/thread", **name, threshold="0.5", first="0", last="5"),
        get(client, "/turns", **name, first="0", last="9", episode="0"),
        get(client, "/turn", **name, turn="1"),
        get(client, "/ask", **asked),
        get(client, "/compare", **asked),
        get(client, "/braid", **name),
        get(client, "/forget", **name, turns="0-2"),
        get(client, "/thread", 404, thread=f"{thread} not there"),
        get(client, "/thread", 400, **name, threshold=NASTY),
        get(client, f"/{quote(NASTY, safe='')}", 404),
    ]


def test_nothing_that_others_wrote_is_interpreted(service, client):
    nasty = [NewTurn(role=NASTY[:60], text=NASTY, id=NASTY, meta={NASTY: NASTY}) for _ in range(1)]
    write(service, "default", NASTY, [*nasty, *talk(12), NewTurn(role="user", text=NASTY)])
    for page in pages_of(client, NASTY):
        assert "<script>" not in page.text
        assert "<img src=x" not in page.text
        # Forms send names as they are; nobody sees them.
        assert "\u202e" not in re.sub(r'<input type="hidden"[^>]*>', "", page.text)
        assert "{{ 7*7 }}" in page.text or NASTY not in html.unescape(page.text)
    shown = get(client, "/turn", thread=NASTY, turn="0")
    assert "<script>alert(1)</script>" in html.unescape(shown.text)
    assert "\\u202egnirts" in shown.text


def test_every_page_forbids_what_is_not_its_own(service, client):
    write(service, "default", "t", talk(12))
    pages = [*pages_of(client, "t"), *(get(client, f"/assets/{name}") for name in ASSETS)]
    for page in pages:
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        if page.headers["content-type"].startswith("text/html"):
            assert page.headers["cache-control"] == "no-store"
            assert not re.search(r"<[^>]+\s(style|on\w+)=", page.text)
            assert "http://" not in page.text and "https://" not in page.text
            assert re.findall(r"<script[^>]*>", page.text) == [
                '<script src="/inspector/assets/script.js" defer>'
            ]


ASSETS = ("style.css", "script.js", "icon.svg")


def test_assets_are_named_and_nothing_else_is_served(client):
    for name in ASSETS:
        get(client, f"/assets/{name}")
    for name in ("nothing.css", "..%2froutes.py", "%2e%2e/routes.py"):
        get(client, f"/assets/{name}", 404)


def test_a_turn_of_a_megabyte_is_cut_with_a_way_to_see_all_of_it(service, client, tmp_path):
    long = "".join(f"word{n} " for n in range(110_000))
    # This preset does not divide long turns, so that the test is quick.
    with Memory.open(tmp_path / "paper.db", model=WordEmbedder(), preset="official") as memory:
        memory.thread("long").add_many([NewTurn(role="user", text=long), *talk(8)])
    assert len(long) > 1 << 20
    for path, fields in (("/turns", {}), ("/thread", {}), ("/ask", {"query": "word7 word8"})):
        page = get(client, f"/ns/paper{path}", thread="long", **fields)
        assert len(page.content) < 100_000
    assert "more characters" in get(client, "/ns/paper/turns", thread="long").text
    seen, address = "", "/inspector/ns/paper/turn?thread=long&turn=0"
    while address:
        page = client.get(address)
        assert len(page.content) < 200_000
        (part,) = re.findall(r"<pre[^>]*>(.*?)</pre>", page.text, re.S)
        seen += html.unescape(part)
        following = re.findall(r'rel="next" href="([^"]+)"', page.text)
        address = html.unescape(following[0]) if following else ""
    assert seen == long


def test_of_a_long_turn_the_passages_that_were_found_are_shown(service, client):
    long = " ".join(f"{TOPICS[n // 40 % 4]} {n}" for n in range(320))
    write(service, "default", "long", [NewTurn(role="user", text=long), *talk(8)])
    page = get(client, "/ask", thread="long", query="Who has a violin lesson?", budget="300")
    assert "more characters" in page.text and 'aria-label="left out"' in page.text


def form_of(page):
    """The fields of the form that forgets."""
    (form,) = re.findall(r'<form class="decide".*?</form>', page.text, re.S)
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)
    }


def left(service, thread="alice/ä b"):
    with reading(service) as memory:
        return [turn.id for turn in memory.thread(thread)]


def noted(service):
    """What the audit log says about forgetting."""
    found = service.gate.audit()
    return [(e.action, e.namespace, e.key, e.about) for e in found if e.action == "forget"]


def test_a_preview_shows_exactly_what_goes_and_the_form_forgets_it(service, client):
    page = get(client, "/forget", thread="alice/ä b", turns=["3-5", "9"])
    ids = re.findall(r'turn=(\d+)">\d+</a> <bdi>', page.text)
    assert ids == ["3", "4", "5", "9"] and len(left(service)) == 60
    receipt = client.post("/inspector/forget", data=form_of(page), headers=HERE)
    assert receipt.status_code == 200 and "3-5,9" in receipt.text
    assert left(service) == [n for n in range(60) if n not in (3, 4, 5, 9)]
    assert noted(service) == [
        ("forget", "default", "", {"thread": "alice/ä b", "turns": [3, 4, 5, 9], "by": "inspector"})
    ]
    assert "4 turns here were forgotten" in get(client, "/thread", thread="alice/ä b").text
    again = client.post("/inspector/forget", data=form_of(page), headers=HERE)
    assert again.status_code == 400 and "nothing was removed" in again.text
    assert len(noted(service)) == 1


def test_a_receipt_can_be_loaded_again_but_not_made_up(service, client):
    write(service, "second", "alice/ä b", talk(6))
    for path in ("", "/ns/second"):
        form = form_of(get(client, f"{path}/forget", thread="alice/ä b", turns="1-3"))
        sent = client.post(
            f"/inspector{path}/forget", data=form, headers=HERE, follow_redirects=False
        )
        address = sent.headers["location"]
        assert sent.status_code == 303 and address.startswith(f"/inspector{path}/receipt?")
        first, again = client.get(address), client.get(address)
        assert first.status_code == 200 and first.text == again.text
        assert "3 turns are gone" in text_of(first) and "<dd>1-3</dd>" in first.text
    for other in (
        address.replace("count=3", "count=4"),
        address.replace("/ns/second", ""),
        address.replace("alice", "bob"),
        address.rpartition("&token")[0],
    ):
        page = client.get(other)
        assert page.status_code == 200 and "can no longer be shown" in page.text
        assert "turns are gone" not in text_of(page)
    assert len(noted(service)) == 2


def test_the_receipt_of_very_many_turns_fits_into_an_address(service, client):
    write(service, "default", "many", [NewTurn(role="user", text=f"n {n}") for n in range(1200)])
    chosen = ",".join(map(str, range(0, 1200, 2)))
    form = form_of(get(client, "/forget", thread="many", turns=chosen))
    sent = client.post("/inspector/forget", data=form, headers=HERE, follow_redirects=False)
    assert len(sent.headers["location"]) < 8_000
    page = client.get(sent.headers["location"])
    assert "600 turns are gone" in text_of(page) and "<dd>0,2,4," in page.text


def test_an_episode_and_a_range_with_gaps_can_be_forgotten(service, client):
    with reading(service) as memory:
        episode = memory.thread("alice/ä b").episodes()[1]
    page = get(client, "/forget", thread="alice/ä b", episode=str(episode.id))
    assert client.post("/inspector/forget", data=form_of(page), headers=HERE).status_code == 200
    gone = {turn.id for turn in episode.turns}
    assert not gone & {*left(service)}
    first, last = min(gone) - 1, max(gone) + 1
    page = get(client, "/forget", thread="alice/ä b", first=str(first), last=str(last))
    assert form_of(page)["turns"] == f"{first},{last}"


def test_the_result_of_a_question_can_be_forgotten(service, client):
    found = get(client, "/ask", thread="alice/ä b", query="violin lesson", budget="100")
    (address,) = re.findall(r'class="button danger" href="([^"]+)"', found.text)
    page = client.get(html.unescape(address))
    assert client.post("/inspector/forget", data=form_of(page), headers=HERE).status_code == 200
    assert len(left(service)) < 60


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "origin": HOME},
        {"sec-fetch-site": "same-site", "origin": HOME},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-origin", "origin": "null"},
    ],
)
def test_forms_of_other_sites_change_nothing(service, client, headers):
    form = form_of(get(client, "/forget", thread="alice/ä b", turns="1"))
    answer = client.post("/inspector/forget", data=form, headers=headers)
    assert answer.status_code == 403
    assert len(left(service)) == 60 and noted(service) == []


def test_a_token_is_for_one_selection_only(service, client):
    form = form_of(get(client, "/forget", thread="alice/ä b", turns="1"))
    write(service, "default", "other", talk(3))
    for change in (
        {"turns": "1-5"},
        {"thread": "other"},
        {"token": ""},
        {"token": "9999999999.00"},
        {"token": "ü"},
    ):
        answer = client.post("/inspector/forget", data={**form, **change}, headers=HERE)
        assert answer.status_code == 403, change
    elsewhere = client.post("/inspector/ns/second/forget", data=form, headers=HERE)
    assert elsewhere.status_code == 403
    assert len(left(service)) == 60


def test_a_token_does_not_last():
    now = [0.0]
    tokens = Tokens(b"secret", lambda: now[0])
    token = tokens.sign("a")
    tokens.check(token, "a")
    now[0] = LASTS + 1
    with pytest.raises(AccessError, match="too old"):
        tokens.check(token, "a")


def test_what_was_forgotten_is_in_no_comparison(service, client):
    asked = {"thread": "alice/ä b", "query": "violin lesson part 7", "right": "official"}
    assert "part 7<" in get(client, "/compare", **asked).text
    form = form_of(get(client, "/forget", thread="alice/ä b", turns="7"))
    client.post("/inspector/forget", data=form, headers=HERE)
    assert "part 7<" not in get(client, "/compare", **asked).text


@pytest.fixture
def keyed(tmp_path):
    """A server with keys; those are by the name of whom they are for."""
    with opened(tmp_path, keys=True) as (service, client):
        write(service, "first", "secrets of first", talk(12))
        write(service, "second", "secrets of second", talk(12))
        made = {
            "reader": service.gate.create(namespace="first", scopes=[Scope.READ]),
            "forgetter": service.gate.create(namespace="first", scopes=[Scope.READ, Scope.FORGET]),
        }
        yield service, client, {name: token for name, (_, token) in made.items()}


def login(client, token, **more):
    return client.post(
        "/inspector/login",
        data={"key": token, **more},
        headers=HERE,
        follow_redirects=False,
    )


def test_without_a_key_every_page_asks_for_one(keyed):
    _, client, _ = keyed
    for path in ("", "/thread", "/turns", "/turn", "/ask", "/compare", "/braid", "/forget"):
        for prefix in ("", "/ns/first"):
            page = get(client, prefix + path, 401, thread="secrets of first", query="violin")
            assert 'type="password"' in page.text and "violin lesson" not in page.text
            assert "secrets of second" not in page.text
    refused = client.post("/inspector/forget", data={"thread": "x"}, headers=HERE)
    assert refused.status_code == 401


def test_a_key_opens_its_namespace_and_no_other(keyed):
    _, client, keys = keyed
    assert login(client, "wrong").status_code == 401
    entered = login(client, keys["reader"], following="/inspector/thread?thread=secrets of first")
    assert entered.status_code == 303
    assert entered.headers["location"].startswith("/inspector/thread?thread=secrets")
    cookie = entered.headers["set-cookie"].lower()
    assert all(part in cookie for part in (COOKIE, "httponly", "samesite=strict", "path=/"))
    assert "secure" not in cookie
    assert "secrets of first" in get(client).text
    for path in ("", "/thread", "/turns", "/ask", "/compare", "/braid"):
        page = get(client, f"/ns/second{path}", 403, thread="secrets of second", query="violin")
        assert "violin lesson" not in page.text
    page = get(client, "/thread", 404, thread="secrets of second")
    assert "second.db" not in page.text


def test_a_key_for_reading_cannot_forget(keyed):
    service, client, keys = keyed
    login(client, keys["reader"])
    assert "Forget" not in get(client, "/turns", thread="secrets of first").text
    get(client, "/forget", 403, thread="secrets of first", turns="1")
    login(client, keys["forgetter"])
    form = form_of(get(client, "/forget", thread="secrets of first", turns="1"))
    login(client, keys["reader"])
    assert client.post("/inspector/forget", data=form, headers=HERE).status_code == 403
    login(client, keys["forgetter"])
    assert client.post("/inspector/forget", data=form, headers=HERE).status_code == 200
    named = keys["forgetter"].split("_")[1]
    assert [note[:3] for note in noted(service)] == [("forget", "first", named)]


def test_over_https_the_cookie_is_secure_and_logging_out_removes_it(keyed):
    _, client, keys = keyed
    secure = TestClient(client.app, base_url="https://127.0.0.1:8765")
    headers = {"origin": "https://127.0.0.1:8765"}
    entered = secure.post(
        "/inspector/login",
        data={"key": keys["reader"]},
        headers=headers,
        follow_redirects=False,
    )
    assert "secure" in entered.headers["set-cookie"].lower()
    get(secure)
    secure.post("/inspector/logout", headers=headers)
    get(secure, "", 401)


@pytest.mark.parametrize("following", ["https://evil.example", "//evil.example", "/v1/x", "x"])
def test_logging_in_leads_to_pages_of_the_inspector_only(keyed, following):
    _, client, keys = keyed
    assert login(client, keys["reader"], following=following).headers["location"] == "/inspector"


def test_logging_in_from_another_site_is_refused(keyed):
    _, client, keys = keyed
    answer = client.post(
        "/inspector/login", data={"key": keys["reader"]}, headers={"origin": "http://evil.example"}
    )
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/thread?thread=alice/ä b&threshold=2",
        "/thread?thread=alice/ä b&first=-1",
        "/thread?thread=alice/ä b&first=99999999999999999999",
        "/ask?thread=alice/ä b&query=x&budget=0",
        "/ask?thread=alice/ä b&query=x&budget=9999999",
        "/ask?thread=alice/ä b&query=x&since=never",
        "/ask?thread=alice/ä b&query=" + "x" * 20_000,
        "/forget?thread=alice/ä b",
        "/forget?thread=alice/ä b&turns=0-4000000000",
        "/forget?thread=alice/ä b&turns=a",
        "/forget?thread=alice/ä b&turns=500",
        "/ns/NOT VALID",
    ],
)
def test_what_cannot_be_used_gets_a_friendly_page(client, path):
    page = get(client, path, 400)
    assert "<h1>Bad Request</h1>" in page.text and "Traceback" not in page.text


def test_a_form_that_is_too_large_is_refused(service, client):
    answer = client.post("/inspector/forget", content=b"x" * (2 << 20), headers=HERE)
    assert answer.status_code == 413
