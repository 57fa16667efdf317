"""The columns of the leaderboard's tables."""

from scaleqa.pages.forms import (
    count,
    fine,
    percent,
    percent_span,
    points,
    points_span,
    tenths,
    text,
)
from scaleqa.pages.table import Column


def _share(key: str, head: str) -> Column:
    below = Column(key=f"{key}_interval", head="95 %", form=percent_span)
    return Column(key=key, head=head, form=percent, below=(below,))


def _span(value: list[float]) -> str:
    low, high = value
    return f"{low:,.1f} to {high:,.1f}"


def _fine_span(value: list[float]) -> str:
    low, high = value
    return f"{low:,.2f} to {high:,.2f}"


def _dollars(value: float) -> str:
    return f"${value:,.2f}"


SYSTEM = Column(key="system", head="system", form=text, link="link")
STANDING = Column(key="standing", head="standing", form=text)
IN_CONTEXT = _share("in_context", "all evidence in context")
DIFFERENCE = Column(
    key="difference",
    head="against the best, points",
    form=points,
    below=(Column(key="difference_interval", head="95 %", form=points_span),),
)
TOKENS = Column(
    key="tokens",
    head="context tokens, mean",
    form=tenths,
    below=(Column(key="tokens_interval", head="95 %", form=_span),),
)
QUESTIONS = Column(key="questions", head="questions", form=str)
COSTS = (
    Column(key="llm_calls", head="LLM calls of the system", form=count),
    Column(key="ingest", head="ingest, ms per turn", form=fine),
    Column(
        key="search",
        head="search p50, ms",
        form=fine,
        below=(Column(key="search_interval", head="95 %", form=_fine_span),),
    ),
    Column(key="usd", head="answers, USD", form=_dollars),
)
RETRIEVAL = (SYSTEM, IN_CONTEXT, DIFFERENCE, STANDING, TOKENS, QUESTIONS, *COSTS)
ANSWERS = (
    SYSTEM,
    _share("strict", "accuracy, strict"),
    DIFFERENCE,
    STANDING,
    _share("credited", "accuracy, credited"),
    _share("unanswered", "unanswered"),
    IN_CONTEXT,
    TOKENS,
    QUESTIONS,
    Column(key="model", head="reader", form=text, hover="model_whole"),
    Column(key="judge", head="judge", form=text, hover="judge_whole"),
    Column(key="sensitivity", head="judge sensitivity", form=text),
    *COSTS,
)
SOURCES = (
    SYSTEM,
    Column(key="checked", head="recomputed", form=text),
    Column(key="unchecked", head="not recomputed", form=text),
    Column(key="again", head="questions run again", form=count),
    Column(key="version", head="version", form=text),
    Column(key="date", head="date", form=text),
    Column(key="embedder", head="embedder", form=text, hover="embedder_whole"),
    Column(key="system_model", head="the system's model", form=text),
    Column(key="prompt", head="prompt", form=text),
    Column(key="writeback", head="exchanges", form=text),
    Column(key="package", head="packages", form=text, hover="package_whole"),
    Column(key="records", head="records", form=text, hover="records_whole"),
    Column(key="rows", head="rows", form=text, hover="rows_whole"),
)
