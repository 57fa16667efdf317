"""Long turns with something to find in each: documents, logs, code and tables of 4,000 words.

The needles are in `long_turns.tsv`: the kind of turn, whether the question uses the same words, the
needle, and the question. Everything around the needles is made here from sentences, messages,
functions and names, always the same.

Four long turns, one of each kind, are pasted into a chat of short turns: 27 threads in all.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tsim import NewTurn

WORDS = 4000

CHAT = (
    ("Can you suggest something for dinner with the leeks I have?", "A tart with goat's cheese."),
    ("My sister's flight lands at nine, when should I leave?", "At a quarter past eight."),
    ("What rhymes with orange?", "Nothing does exactly; door hinge comes close."),
    ("I slept badly again, the street is so loud.", "Earplugs of wax help more than foam ones."),
    ("How do I say thank you in Portuguese?", "Obrigado, or obrigada if you are a woman."),
    ("The printer at work jams whenever I print envelopes.", "Open the rear flap and try again."),
    ("Which film should we watch tonight, something short?", "Paper Moon is a good one."),
    ("I finally finished the marathon!", "Congratulations! How are your legs?"),
    ("They hurt. Is it wise to swim tomorrow?", "Yes, slowly, and not for long."),
    ("Remind me what a gerund is.", "A verb used as a noun, such as swimming."),
    ("My neighbour's cat comes in through the window every day.", "It has made its choice."),
    ("How long do I boil an egg if it is very large?", "Seven minutes for a soft yolk."),
    ("I need a title for my talk about moss.", "Small forests: what moss knows."),
    ("Is it true that goldfish forget everything?", "No, they remember for months."),
    ("The train was late, so I missed the rehearsal.", "That is a pity; was it recorded?"),
    ("What should I write to a colleague who retires?", "Thank her for something specific."),
)

TOPICS = (
    "kitchens", "meetings", "travel", "holidays", "furniture", "training", "gardening", "parking",
    "printing", "heating", "cleaning", "reception", "archives", "safety", "events", "purchasing",
    "repairs", "catering", "lighting", "recycling", "workshops", "storage", "deliveries", "guests",
)  # fmt: skip
SENTENCES = (
    "Everything that concerns {topic} is arranged by the {team} team, which meets on {day}.",
    "Requests are written on the usual form and handed in before {day} at noon.",
    "If nobody answers within {number} days, ask the {team} team again.",
    "The budget for {topic} is fixed each spring and rarely changes before the next one.",
    "A list of everybody who looks after {topic} is on the wall beside the stairs.",
    "New colleagues are shown around on their first {day} and get a copy of these pages.",
    "Costs of up to {number} euros need no signature; larger ones need two.",
    "In summer the rules for {topic} are relaxed, because half of the {team} team is away.",
    "Please do not move anything without telling the {team} team, which keeps the inventory.",
    "The {team} team has tried other ways of handling {topic}; this one caused least trouble.",
    "Notes of past meetings are kept for {number} years and can be read by anyone.",
    "When two requests collide, the earlier one wins, unless the {team} team decides otherwise.",
    "Questions about {topic} that come up often are answered in the monthly letter.",
    "A yearly survey asks what people think of {topic}; its results are discussed on a {day}.",
    "Most problems with {topic} solve themselves if everybody is patient for {number} days.",
    "The cupboard for {topic} is locked on {day} and open otherwise.",
)
TEAMS = ("blue", "house", "evening", "upper", "river", "central", "second", "open")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

MESSAGES = (
    "INFO {service}: request {number} served in {small} ms",
    "INFO {service}: worker {small} started, queue length {number}",
    "DEBUG {service}: cache hit for key {key}",
    "DEBUG {service}: cache miss for key {key}, loading",
    "INFO {service}: {number} rows written to table {key}",
    "WARN {service}: slow query on {key}, {number} ms",
    "INFO {service}: health check passed, {small} connections open",
    "DEBUG {service}: garbage collected {number} objects in {small} ms",
    "INFO {service}: configuration {key} reloaded",
    "WARN {service}: connection {number} closed by peer, will reconnect",
)
SERVICES = (
    "gateway",
    "catalogue",
    "sessions",
    "metrics",
    "indexer",
    "notifier",
    "proxy",
    "reports",
)

FUNCTIONS = (
    '''def {verb}_{noun}({noun}s, limit={number}):
    """Return the {noun}s that can be {verb}ed, at most `limit` of them."""
    found = []
    for {noun} in {noun}s:
        if {noun} is None or not {noun}.active:
            continue
        found.append({noun}.{verb}())
        if len(found) >= limit:
            break
    return found
''',
    '''class {Noun}{Verb}er:
    """Keeps the {noun}s that are waiting to be {verb}ed."""

    def __init__(self, size={number}):
        self.size = size
        self.waiting = []

    def push(self, {noun}):
        if len(self.waiting) == self.size:
            raise OverflowError("too many {noun}s")
        self.waiting.append({noun})

    def {verb}_all(self):
        while self.waiting:
            yield self.waiting.pop(0).{verb}()
''',
    '''def test_{verb}_{noun}_twice(client):
    first = client.post("/{noun}s/{number}/{verb}")
    second = client.post("/{noun}s/{number}/{verb}")
    assert first.status_code == 200
    assert second.status_code == 409
    assert "already" in second.json()["detail"]
''',
)  # fmt: skip
VERBS = ("pack", "check", "sort", "mark", "print", "lock", "fold", "scan", "weigh", "seal")
NOUNS = (
    "crate",
    "ticket",
    "ledger",
    "sample",
    "parcel",
    "badge",
    "folder",
    "batch",
    "meter",
    "token",
)

ADJECTIVES = (
    "Plain",
    "Round",
    "Tall",
    "Light",
    "Simple",
    "Classic",
    "Slim",
    "Wide",
    "Soft",
    "Grand",
)
THINGS = (
    "chair",
    "plate",
    "shelf",
    "cushion",
    "drawer",
    "candle",
    "carafe",
    "stool",
    "tray",
    "clock",
)
FIRMS = ("Alder", "Birk", "Cobalt", "Dane", "Elmo", "Frost", "Grove", "Hale", "Iris", "Jute")


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """Something to find in a long turn.

    Attributes:
        kind: The kind of turn: document, log, code or table.
        wording: Whether the question uses the `same` words or `other` ones.
        text: What is inserted into the turn.
        question: The question.
    """

    kind: str
    wording: str
    text: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LongThread:
    """A chat with long turns in it.

    Attributes:
        turns: All turns.
        needles: What is hidden in the long ones.
    """

    turns: tuple[NewTurn, ...]
    needles: tuple[Needle, ...]


def needles() -> list[Needle]:
    """Reads the needles, in order."""
    lines = Path(__file__).with_name("long_turns.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return [
        Needle(kind=kind, wording=wording, text=text, question=question)
        for kind, wording, text, question in rows
    ]


def threads() -> Iterator[LongThread]:
    """Makes the threads, each with one long turn of each kind, in turn."""
    by_kind = {kind: [one for one in needles() if one.kind == kind] for kind in KINDS}
    for number, some in enumerate(zip(*by_kind.values(), strict=True)):
        turns = [NewTurn(role=role, text=text) for role, text in _chat(number)]
        for place, needle in enumerate(some):
            pasted = f"{KINDS[needle.kind].said}\n\n{long_turn(needle, number)}"
            at = 2 * (2 + 4 * place) + place  # between two exchanges of the chat
            turns.insert(at, NewTurn(role="user", text=pasted))
        yield LongThread(turns=tuple(turns), needles=tuple(some))


def long_turn(needle: Needle, number: int) -> str:
    """Returns a text of about 4,000 words with a needle in it.

    Args:
        needle: The needle.
        number: The number of the thread, which decides where the needle is.
    """
    kind = KINDS[needle.kind]
    rng = random.Random(needle.kind)  # threads share texts: most passages are embedded once
    units: list[str] = []
    words = 0
    while words < WORDS:
        units.append(kind.unit(rng, len(units)))
        words += len(units[-1].split())
    place = 1 + (number * 7 + kind.shift) % 27 * (len(units) - 1) // 27
    units.insert(place, needle.text + kind.after)
    return kind.head + "".join(units)


def _chat(number: int) -> Iterator[tuple[str, str]]:
    for place in range(len(CHAT)):
        asked, said = CHAT[(place + 5 * number) % len(CHAT)]
        yield "user", asked
        yield "model", said


def _sentence(rng: random.Random, number: int) -> str:
    topic = TOPICS[number // 12 % len(TOPICS)]
    said = rng.choice(SENTENCES).format(
        topic=topic, team=rng.choice(TEAMS), day=rng.choice(DAYS), number=rng.randint(3, 90)
    )
    heading = f"\n\n## {topic.capitalize()}\n\n" if number % 12 == 0 else ""
    return f"{heading}{said}{chr(10) * 2 if number % 4 == 3 else ' '}"


def _message(rng: random.Random, number: int) -> str:
    said = rng.choice(MESSAGES).format(
        service=rng.choice(SERVICES),
        number=rng.randint(100, 9999),
        small=rng.randint(1, 99),
        key=f"{rng.choice(NOUNS)}_{rng.randint(1, 40)}",
    )
    return f"2031-03-04T{number // 60 % 24:02}:{number % 60:02}:{rng.randint(0, 59):02}Z {said}\n"


def _function(rng: random.Random, number: int) -> str:
    verb, noun = rng.choice(VERBS), rng.choice(NOUNS)
    said = FUNCTIONS[number % len(FUNCTIONS)].format(
        verb=verb,
        noun=noun,
        Verb=verb.capitalize(),
        Noun=noun.capitalize(),
        number=rng.randint(2, 60),
    )
    return f"{said}\n\n"


def _row(rng: random.Random, number: int) -> str:
    name = f"{rng.choice(ADJECTIVES)} {rng.choice(THINGS)} {number}"
    price = f"{rng.randint(3, 900)}.{rng.randint(0, 99):02}"
    hall, stock = rng.randint(28, 60), rng.randint(1, 600)
    return f"| {name} | {rng.choice(FIRMS)} | Hall {hall} | {price} | {stock} |\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How turns of a kind are made.

    Attributes:
        said: What the user says before the text.
        head: What the text begins with.
        unit: Makes one part of it, given its number.
        after: What follows the needle.
        shift: Moves the needle, so that it is not at the same place in all turns of a thread.
    """

    said: str
    shift: int
    head: str = ""
    unit: Callable[[random.Random, int], str]
    after: str = "\n"


KINDS = {
    "document": Kind(
        said="Here is the handbook, please keep it.", shift=0, unit=_sentence, after=" "
    ),
    "log": Kind(said="This is last night's log:", shift=10, unit=_message),
    "code": Kind(
        said="This is the module I am working on.", shift=20, unit=_function, after="\n\n\n"
    ),
    "table": Kind(
        shift=15,
        said="Our current stock list:",
        head="| Article | Supplier | Place | Price | Stock |\n|---|---|---|---|---|\n",
        unit=_row,
    ),
}
