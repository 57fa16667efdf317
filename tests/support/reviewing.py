"""A review that is open, and people who use its pages without a browser."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from scaleqa.desk import People, create_app
from scaleqa.records import Record
from scaleqa.records.readings import Reading
from scaleqa.review import opening
from scaleqa.review.beside import Shelf
from scaleqa.testing import WordEmbedder

HOME = "http://127.0.0.1:8770"
HIDDEN = re.compile(r'name="(id|version)" value="(\w*)"')


class Served:
    """An application and those who may use it."""

    def __init__(self, app: Starlette, people: People) -> None:
        self.app = app
        self.people = people

    def client(self, name: str) -> "Reader":
        return Reader(self, name)


class Reader:
    """Somebody with a link, who looks at pages and sends their forms."""

    def __init__(self, served: Served, name: str) -> None:
        self.name = name
        self._client = TestClient(
            served.app, base_url=HOME, headers={"sec-fetch-site": "same-origin"}
        )
        self.get("/", token=served.people.token(name))

    def get(self, path: str, **query: str) -> Any:
        return self._client.get(f"/{self.name}{path}", params=query)

    def form(self, number: int, *, choosing: bool = False, edit: bool = False) -> dict[str, str]:
        """The hidden fields of the form of a record, as a page of it has them."""
        page = self.get(f"/records/{number}/edit" if edit else f"/records/{number}").text
        forms = re.findall(r"<form.*?</form>", page.partition("<h1>")[2], re.S)
        return dict(HIDDEN.findall(forms[0 if choosing or len(forms) == 1 else -1]))

    def send(self, number: int, form: dict[str, Any], **fields: Any) -> Any:
        return self._client.post(f"/{self.name}/records/{number}", data={**form, **fields})

    def decide(self, number: int, verdict: str, **fields: Any) -> Any:
        choosing = verdict.startswith("choose")
        return self.send(number, self.form(number, choosing=choosing), verdict=verdict, **fields)


def fields_of(record: Record) -> dict[str, Any]:
    """A record as the fields of the form that edits it."""
    return {
        **{f"dialogue.{n}": turn.content for n, turn in enumerate(record.dialogue)},
        **{f"options.{letter}": record.option(letter) for letter in "ABCD"},
        "question": record.question,
        "answer": record.answer,
        "evidence": [str(one) for one in record.evidence],
        "reasoning": record.reasoning,
        "labels": list(record.stress.labels),
        "primary": record.stress.primary,
    }


@contextmanager
def reviewing(
    directory: Path,
    records: Sequence[Record],
    reviewers: Sequence[str] = ("ana",),
    *,
    adjudicator: str | None = None,
    each: int = 1,
    blind: bool = False,
    readings: Sequence[Reading] = (),
    told: list[str] | None = None,
) -> Iterator[Served]:
    """Opens a review; yields what serves it."""
    people = opening.people_of(reviewers, adjudicator)
    wanted = opening.settings_of(records, people, each=each, blind=blind)
    heard = told if told is not None else []
    with opening.opened(directory, records, wanted, told=heard.append) as review:
        shelf = Shelf(records, embedder=WordEmbedder(), readings=readings)
        admitted = review.admitted(people)
        yield Served(create_app(review.desk(admitted, shelf)), admitted)
