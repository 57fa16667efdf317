"""A desk: nothing without a token, nothing from other sites, errors as pages."""

import pytest
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from scaleqa.desk import Desk, Page, People, Person, create_app, held, hold, secret_of
from scaleqa.errors import DataError
from tsim.errors import InputError
from tsim.ports import listen

HOME = "http://127.0.0.1:8770"
SAME = {"sec-fetch-site": "same-origin"}


def people(secret=b"s" * 32):
    return People(
        secret, [Person(name="ana", role="reviewer"), Person(name="ben", role="reviewer")]
    )


def fail(visit):
    raise DataError("<b>bad</b> data")


def crash(visit):
    raise RuntimeError("secret detail")


PAGES = (
    Page(path="/", handler=lambda visit: HTMLResponse(f"hello {visit.person.name}")),
    Page(path="/say", handler=lambda visit: HTMLResponse(visit.text("words")), method="POST"),
    Page(path="/fail", handler=fail),
    Page(path="/crash", handler=crash),
)


@pytest.fixture
def client():
    app = create_app(Desk(title="Toy", people=people(), pages=PAGES, package="scaleqa.desk"))
    return TestClient(app, base_url=HOME, follow_redirects=False, raise_server_exceptions=False)


def enter(client, name="ana"):
    answer = client.get(f"/{name}/?token={people().token(name)}")
    assert answer.status_code == 303 and answer.headers["location"] == f"/{name}/"
    return answer


@pytest.mark.parametrize(
    "path", ["/ana/", "/ana/fail", "/nobody/", "/ana/?token=", "/ana/?token=é"]
)
def test_nothing_is_shown_without_the_token(client, path):
    answer = client.get(path)
    assert answer.status_code == 403 and "needs the link" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_link_leads_in_and_leaves_the_address_without_the_token(client):
    answer = enter(client)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie and "path=/ana/" in cookie
    assert client.get("/ana/").text == "hello ana"


def test_the_token_of_one_is_not_that_of_another(client):
    assert client.get(f"/ben/?token={people().token('ana')}").status_code == 403
    enter(client)
    assert client.get("/ben/").status_code == 403
    other = People(b"t" * 32, people())
    assert other.token("ana") != people().token("ana")
    assert client.get(f"/ana/fail?token={other.token('ana')}").status_code == 400  # by the cookie


def test_forms_come_from_our_own_pages(client):
    enter(client)
    said = {"words": "one\r\ntwo"}
    for headers in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "null", **SAME}):
        assert client.post("/ana/say", data=said, headers=headers).status_code == 403
    assert client.post("/ana/say", data=said, headers=SAME).text == "one\ntwo"
    assert client.post("/ana/say", data=said, headers={"origin": HOME}).status_code == 200
    client.cookies.clear()
    assert client.post("/ana/say", data=said, headers=SAME).status_code == 403
    token = people().token("ana")
    assert client.post(f"/ana/say?token={token}", data=said, headers=SAME).status_code == 403


def test_other_names_of_the_machine_are_refused(client):
    enter(client)
    assert client.get("/ana/", headers={"host": "evil.example:8770"}).status_code == 403
    assert client.get("/assets/desk.css", headers={"host": "evil.example"}).status_code == 403


def test_errors_are_pages_that_quote_harmlessly(client):
    enter(client)
    failed = client.get("/ana/fail")
    assert failed.status_code == 400 and "&lt;b&gt;bad" in failed.text
    crashed = client.get("/ana/crash")
    assert crashed.status_code == 500 and "secret detail" not in crashed.text
    assert client.get("/ana/nowhere").status_code == 404
    assert client.get("/").status_code == 404
    large = client.post("/ana/say", content=b"words=" + b"x" * (1 << 20), headers=SAME)
    assert large.status_code == 413


@pytest.mark.parametrize(
    "path", ["/ana/fail", "/ana/crash", "/ana/nowhere", "/assets/desk.js", "/"]
)
def test_every_answer_forbids_what_pages_do_not_need(client, path):
    enter(client)
    headers = client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("name", ["", "Ana", "a b", "../x", "assets", "a" * 41, "ána"])
def test_names_that_cannot_be_in_an_address_are_refused(name):
    with pytest.raises(DataError, match="cannot be the name"):
        People(b"", [Person(name=name, role="r")])


def test_a_name_has_one_role():
    with pytest.raises(DataError, match="twice"):
        People(b"", [Person(name="ana", role="a"), Person(name="ana", role="b")])


def test_links_are_the_same_after_a_restart_and_others_cannot_read_the_secret(tmp_path):
    with held(tmp_path / "desk") as directory:
        secret = secret_of(directory)
    assert secret_of(directory) == secret and len(secret) == 32
    file = directory / "secret.txt"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("short")
    with pytest.raises(DataError, match="not the secret of a desk"):
        secret_of(directory)


def test_a_directory_is_served_once_at_a_time(tmp_path):
    with held(tmp_path), pytest.raises(DataError, match="is being served already"), held(tmp_path):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="no directory"), held(tmp_path / "file"):
        pass


def test_a_port_that_is_in_use_is_said():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use"):
            hold(port)
    with pytest.raises(InputError, match="expected 1 to 65535"):
        hold(70_000)
