"""The tables that commands print: scores, costs, paired differences, retrieval."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from scaleqa.figures.groups import Group
from scaleqa.figures.judging import span
from scaleqa.figures.paired import Compared
from scaleqa.figures.retrieval import Retrieval
from scaleqa.figures.scores import Scores, score
from scaleqa.figures.verdicts import Judged
from scaleqa.pages.forms import count, fine, over_judges, signed, signed_span, text
from scaleqa.pages.forms import span as plain_span
from scaleqa.pages.table import Column, Table, interval
from scaleqa.report.columns import judge_names

SYSTEM = Column(key="system", head="system", form=text)
# About questions whose matter never came up, and about relevances.
SILENT = Column(key="silent", head="silent")
ABSENCE = (
    SILENT,
    interval("silent_interval"),
    Column(key="error", head="cal. error"),
    Column(key="exact", head="if exact"),
    Column(key="auroc", head="AUROC"),
)
# The range of strict accuracy, or of a difference, over all judges of the same answers.
SENSITIVITY = Column(key="judges", head="judge sensitivity", form=over_judges(plain_span))
ABSTAINING = {
    "present": "accuracy on present",
    "absent": "accuracy on absent",
    "abstained": "abstained on present",
    "precision": "abstention precision",
    "recall": "abstention recall",
}
MEASURES = {
    "correct": "strict accuracy",
    "hit": "all evidence in context",
    "recalled": "all evidence in the best 5",
}


def abstaining_table(results: Mapping[str, Scores]) -> Table:
    """How answers told absent matters from others, by system."""
    rows = []
    for name, scores in results.items():
        if one := scores.abstaining:
            shares = {key: getattr(one, key) for key in ABSTAINING}
            row = {key: found.value if found else None for key, found in shares.items()}
            rows.append({"system": name, **row})
    columns = tuple(Column(key=key, head=head) for key, head in ABSTAINING.items())
    return Table(columns=(SYSTEM, *columns), rows=tuple(rows))


def judged_table(found: Sequence[Judged]) -> Table:
    """Verdicts by judge and system, and what they cost."""
    names = judge_names(one.judge for one in found)
    rows = [{**asdict(one), "judge": names[one.judge]} for one in found]
    columns = (
        Column(key="judge", head="judge", form=text),
        SYSTEM,
        Column(key="answers", head="answers", form=count),
        Column(key="correct", head="right"),
        interval("interval"),
        Column(key="score", head="mean score"),
        Column(key="asked", head="asked", form=count),
        Column(key="prompt_tokens", head="tokens in", form=count),
        Column(key="completion_tokens", head="tokens out", form=count),
        Column(key="cost_usd", head="USD", form=lambda value: f"{value:.4f}"),
    )
    return Table(columns=columns, rows=tuple(rows)).filled()


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
                "judges": span(answers.judges) if answers else None,
                "unanswered": answers.unanswered if answers else None,
            }
        )
    columns = (
        SYSTEM,
        Column(key="accuracy", head="accuracy"),
        Column(key="strict", head="strict accuracy"),
        *((SENSITIVITY,) if any(scores.answers for scores in results.values()) else ()),
        Column(key="unanswered", head="unanswered"),
        Column(key="hit", head="CL hit"),
        interval("interval"),
        *((SILENT,) if any(scores.silent for scores in results.values()) else ()),
        Column(key="tokens", head="context tokens", form=count),
        Column(key="exchanges", head="turns from exchanges", form=_percent),
    )
    title = _title(scores.track for scores in results.values())
    return Table(title=title, columns=columns, rows=tuple(rows))


def answer_tables(results: Mapping[str, Scores]) -> tuple[Table, ...]:
    """Accuracy with intervals, and hit by correctness, where somebody answered."""
    answered = {name: scores for name, scores in results.items() if scores.answers}
    rows = [
        {
            "system": name,
            "questions": scores.questions,
            "accuracy": scores.answers.accuracy,
            "interval": scores.answers.accuracy_interval,
            "strict": scores.answers.strict_accuracy,
            "strict_interval": scores.answers.strict_interval,
            "unanswered": scores.answers.unanswered,
            "hit": scores.hit,
            **scores.answers.audit,
        }
        for name, scores in answered.items()
        if scores.answers
    ]
    if not rows:
        return (scores_table(results),)
    columns = (
        SYSTEM,
        Column(key="questions", head="questions", form=count),
        Column(key="accuracy", head="accuracy"),
        interval("interval"),
        Column(key="strict", head="strict"),
        interval("strict_interval"),
        Column(key="unanswered", head="unanswered"),
        Column(key="hit", head="CL hit"),
    )
    kinds = [key for scores in answered.values() if scores.answers for key in scores.answers.audit]
    heads = {key: key.replace("_", " ") for key in kinds}
    audit = (SYSTEM, *(Column(key=key, head=head) for key, head in heads.items()))
    track = _title(scores.track for scores in answered.values())
    shares = f"{track}: hit and correctness" if track else "Hit and correctness"
    return (
        Table(title=track, columns=columns, rows=tuple(rows)),
        Table(title=shares, columns=audit, rows=tuple(rows)),
    )


def tracks_table(groups: Sequence[Group]) -> Table:
    """Accuracy, interval and questions by system, a column for each setting that was answered."""
    answered = [one for one in groups if one.setting.answers]
    rows: dict[str, dict[str, Any]] = {}
    columns = [SYSTEM]
    for number, one in enumerate(answered):
        splits = sorted({row.split for rows in one.rows.values() for row in rows if row.split})
        name = one.setting.track or one.setting.dataset or ""
        key, span = f"accuracy {number}", f"interval {number}"
        columns += [Column(key=key, head=" ".join([name, *splits])), interval(span)]
        for system, own in one.rows.items():
            if found := score(own).answers:
                cells = {key: found.accuracy, span: found.accuracy_interval}
                rows.setdefault(system, {"system": system}).update(cells)
    return Table(title="Accuracy by track", columns=tuple(columns), rows=tuple(rows.values()))


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
    judged = any(one.judges is not None for one in found)
    rows = [
        {
            "measure": MEASURES[one.measure],
            "first": one.first,
            "second": one.second,
            "difference": one.difference.difference,
            "interval": one.difference.interval,
            "p": one.mcnemar_p,
            "judges": None if one.judges is None else span(one.judges),
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
        *((replace(SENSITIVITY, form=over_judges(signed_span)),) if judged else ()),
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
        found["exact"] = one.relevance.exact_error
        found["auroc"] = one.relevance.auroc
    return found


def _percent(value: float) -> str:
    return f"{value:.0%}"
