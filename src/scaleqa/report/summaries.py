"""The tables that commands print: scores, costs, paired differences, retrieval."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaleqa.figures.paired import Compared
from scaleqa.figures.retrieval import Retrieval
from scaleqa.figures.scores import Scores
from scaleqa.pages.forms import count, fine, signed, signed_span, text
from scaleqa.pages.table import Column, Table, interval

SYSTEM = Column(key="system", head="system", form=text)
# About questions whose matter never came up, and about relevances.
SILENT = Column(key="silent", head="silent")
ABSENCE = (
    SILENT,
    interval("silent_interval"),
    Column(key="error", head="cal. error"),
    Column(key="auroc", head="AUROC"),
)
MEASURES = {
    "correct": "strict accuracy",
    "hit": "all evidence in context",
    "recalled": "all evidence in the best 5",
}


def scores_table(results: Mapping[str, Scores]) -> Table:
    """Scores by system; accuracy only where a language model answered."""
    rows = []
    for name, scores in results.items():
        answers = scores.answers
        rows.append(
            {
                "system": name,
                "hit": scores.hit if scores.judged else None,
                "interval": scores.hit_interval if scores.judged else None,
                "tokens": scores.context_tokens,
                "exchanges": scores.exchange_share,
                "silent": scores.silent.value if scores.silent else None,
                "accuracy": answers.accuracy if answers else None,
                "strict": answers.strict_accuracy if answers else None,
                "unanswered": answers.unanswered if answers else None,
            }
        )
    columns = (
        SYSTEM,
        Column(key="accuracy", head="accuracy"),
        Column(key="strict", head="strict accuracy"),
        Column(key="unanswered", head="unanswered"),
        Column(key="hit", head="CL hit"),
        interval("interval"),
        *((SILENT,) if any(scores.silent for scores in results.values()) else ()),
        Column(key="tokens", head="context tokens", form=count),
        Column(key="exchanges", head="turns from exchanges", form=_percent),
    )
    title = _title(scores.track for scores in results.values())
    return Table(title=title, columns=columns, rows=tuple(rows))


def costs_table(results: Mapping[str, Scores]) -> Table:
    """What answers cost, by system."""
    rows = [
        {
            "system": name,
            "prompt": scores.answers.prompt_tokens,
            "completion": scores.answers.completion_tokens,
            "usd": scores.answers.cost_usd,
            "cached": scores.answers.cached,
        }
        for name, scores in results.items()
        if scores.answers
    ]
    columns = (
        SYSTEM,
        Column(key="prompt", head="tokens in", form=count),
        Column(key="completion", head="tokens out", form=count),
        Column(key="usd", head="USD", form=lambda value: f"{value:.4f}"),
        Column(key="cached", head="from the cache", form=_percent),
    )
    return Table(columns=columns, rows=tuple(rows))


def compared_table(
    first: str, second: str, found: Sequence[Compared], track: str | None = None
) -> Table:
    """Two systems on one track, measure by measure."""
    rows = [
        {
            "measure": MEASURES[one.measure],
            "first": one.first,
            "second": one.second,
            "difference": one.difference.difference,
            "interval": one.difference.interval,
            "p": one.mcnemar_p,
        }
        for one in found
    ]
    columns = (
        Column(key="measure", head="measure", form=text),
        Column(key="first", head=first),
        Column(key="second", head=second),
        Column(key="difference", head="difference", form=signed),
        interval("interval", form=signed_span),
        Column(key="p", head="McNemar p", form=lambda value: f"{value:.2g}"),
    )
    return Table(title=_title([track]), columns=columns, rows=tuple(rows))


def retrieval_table(found: Sequence[Retrieval]) -> Table:
    """Retrieval by system, and what it takes without the embedding of texts."""
    rows = [
        {
            "system": one.system,
            "in_context": one.in_context.value,
            "interval": one.in_context.interval,
            "recalled": one.recalled.value,
            "together": one.together.value if one.together else None,
            **absence(one),
            "tokens": one.context_tokens,
            "ingest": one.kept.ingest_ms_per_turn if one.kept else None,
            "p50": one.kept.retrieve_p50_ms if one.kept else None,
        }
        for one in found
    ]
    columns = (
        SYSTEM,
        Column(key="in_context", head="in context"),
        interval("interval"),
        Column(key="recalled", head="recall@5"),
        Column(key="together", head="co-contain"),
        *(column for column in ABSENCE if any(column.key in row for row in rows)),
        Column(key="tokens", head="tokens", form=count),
        Column(key="ingest", head="ms/turn", form=fine),
        Column(key="p50", head="p50 ms", form=fine),
    )
    return Table(title=_title(one.track for one in found), columns=columns, rows=tuple(rows))


def _title(tracks: Iterable[str | None]) -> str:
    """Names the track of a table; empty for other data sets."""
    return ", ".join(f"Track: {track}" for track in dict.fromkeys(tracks) if track)


def absence(one: Retrieval) -> dict[str, Any]:
    """Returns what is known of absent matters and relevances, by key of a column."""
    found: dict[str, Any] = {}
    if one.silent:
        found |= {"silent": one.silent.value, "silent_interval": one.silent.interval}
    if one.relevance:
        found["error"] = one.relevance.calibration_error
        found["auroc"] = one.relevance.auroc
    return found


def _percent(value: float) -> str:
    return f"{value:.0%}"
