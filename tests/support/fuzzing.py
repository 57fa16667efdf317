"""Inputs that nobody would write, for everything that reads what others have written.

A target has valid inputs, which are mutated, and a function that reads one. It may raise errors of
the two packages and nothing else. The same seed gives the same inputs.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scaleqa.errors import ScaleqaError
from tsim.errors import TsimError

# What parsers stumble over: structure, numbers, line ends, letters of other kinds, deep nesting.
PIECES = (
    "", " ", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\x85", "\u2028", "\ufeff", "\u202e", "\ud800",
    "{", "}", "[", "]", '"', "'", ":", ",", ";", "=", "@", "#", "/", "..", "../..", "\\", "\\u0000",
    "\\ud800", "-", "--", "0", "-1", "1e999", "9" * 30, "9" * 5000, "1.5", "NaN", "Infinity",
    "null", "true", "false", "[]", "{}", "[" * 300, '{"a":' * 300, "A", "ANSWER: ", "RATIONALE: ",
    "İ", "ß", "ſ", "字", "๓", "Ⅷ", "👩\u200d🔬", "\u0301", "user: ", "[3-4]", "…", "2024-02-30",
    "last week", "in May", "three days ago", "k", "M", "%", "*", "*" * 500, " " * 500, "\n" * 500,
    "a" * 300, "answer " * 50, "1/1/24, 10:00 - A: ", "a,b,c", "gone",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    None, True, False, 0, -1, 10**30, 1.5, float("inf"), float("nan"), "", "x", "\ud800", "../..",
    [], {}, [None], [[]], {"a": None}, "9" * 400, -(10**9), [0] * 50, {"": ""},
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that reads what others have written.

    Attributes:
        name: What it is called.
        seeds: Inputs that it can read.
        read: Reads an input.
    """

    name: str
    seeds: Sequence[str]
    read: Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came out of a target.

    Attributes:
        inputs: How many inputs were read.
        accepted: How many of them without an error.
        slowest: The longest time for one, in seconds.
        slowest_input: The input that took it.
        failures: Inputs with what was raised by them, which must not be.
    """

    inputs: int
    accepted: int
    slowest: float
    slowest_input: str
    failures: Sequence[tuple[str, Exception]]


def fuzz(
    target: Target,
    seed: int,
    *,
    inputs: int | None = None,
    seconds: float | None = None,
    most_failures: int = 5,
) -> Found:
    """Reads inputs until there were enough, the time is over, or enough of them failed."""
    rng = random.Random(f"{seed}:{target.name}")
    count = accepted = 0
    slowest, slowest_input = 0.0, ""
    failures: list[tuple[str, Exception]] = []
    began = time.perf_counter()
    while len(failures) < most_failures:
        if inputs is not None and count >= inputs:
            break
        if seconds is not None and time.perf_counter() - began >= seconds:
            break
        text = generate(rng, target.seeds) if count >= len(target.seeds) else target.seeds[count]
        count += 1
        start = time.perf_counter()
        try:
            target.read(text)
            accepted += 1
        except (ScaleqaError, TsimError):
            pass
        except Exception as error:  # noqa: BLE001 - what is looked for
            failures.append((text, error))
        took = time.perf_counter() - start
        if took > slowest:
            slowest, slowest_input = took, text
    return Found(
        inputs=count,
        accepted=accepted,
        slowest=slowest,
        slowest_input=slowest_input,
        failures=failures,
    )


def generate(rng: random.Random, seeds: Sequence[str]) -> str:
    """Makes an input: mostly a seed with something changed, sometimes nothing but pieces."""
    if rng.random() < 0.1:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 12)))
    text = rng.choice(seeds)
    if rng.random() < 0.5:
        text = _value_changed(rng, text)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        text = _text_changed(rng, text, seeds)
    return text


def _text_changed(rng: random.Random, text: str, seeds: Sequence[str]) -> str:
    at = rng.randint(0, len(text))
    end = min(len(text), at + rng.choice((1, 1, 3, 20, 200)))
    match rng.randrange(6):
        case 0:
            return text[:at] + text[end:]
        case 1:
            return text[:at] + text[at:end] * rng.choice((2, 3, 40)) + text[end:]
        case 2:
            other = rng.choice(seeds)
            return text[:at] + other[rng.randint(0, len(other)) :]
        case 3:
            return (
                text[:at]
                + chr(rng.choice((rng.randrange(256), rng.randrange(0x3000))))
                + (text[at + 1 :])
            )
        case _:
            return text[:at] + rng.choice(PIECES) + text[end if rng.random() < 0.5 else at :]


def _value_changed(rng: random.Random, text: str) -> str:
    """Replaces a value in one line of JSON, or in a document; other texts stay as they are."""
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    for whole, rest in ((lines[place], True), (text, False)):
        try:
            value = json.loads(whole)
        except (ValueError, RecursionError):
            continue
        changed = json.dumps(_replaced(rng, value), ensure_ascii=rng.random() < 0.8)
        return "\n".join([*lines[:place], changed, *lines[place + 1 :]]) if rest else changed
    return text


def _replaced(rng: random.Random, value: object) -> object:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        kept = dict(value)
        match rng.randrange(8):
            case 0:
                del kept[key]
            case 1:
                kept[rng.choice(PIECES)] = kept.pop(key)
            case _:
                kept[key] = _replaced(rng, value[key])
        return kept
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = rng.randrange(len(value))
        return [*value[:place], _replaced(rng, value[place]), *value[place + 1 :]]
    return rng.choice(VALUES) if rng.random() < 0.7 else rng.choice(PIECES)
