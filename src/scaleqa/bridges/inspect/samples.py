"""Questions as samples: of packages before they are asked, and of rows that have been."""

from typing import Any

from inspect_ai.dataset import Sample

from scaleqa.evaluate.grading import written_options
from scaleqa.evaluate.rows import Row
from scaleqa.packages import Package, Question, track_of

# The domain of questions without one: Inspect groups by what every sample has.
NO_DOMAIN = "none"


def sample_of(package: Package, place: int) -> Sample:
    """Returns the question at a place of a package; its memory is asked when it is solved."""
    question = package.questions[place]
    texts = tuple(package.stream[turn].text for turn in question.evidence)
    return Sample(
        id=question.id,
        input=asked(question),
        choices=choices(question),
        target=question.answer or "",
        metadata={
            "package": package.name,
            "package_sha256": package.sha256,
            "dataset": package.settings.get("dataset", "scaleqa"),
            "track": track_of(package.settings),
            "place": place,
            "evidence_texts": [*texts],
            **described(question),
        },
    )


def asked(question: Question | Row) -> str:
    """Returns a question as people read it, with its options."""
    if not question.options:
        return question.question
    return f"{question.question}\n\n{written_options(question)}"


def choices(question: Question | Row) -> list[str] | None:
    """Returns the options without their letters."""
    return [*question.options.values()] if question.options else None


def described(question: Question | Row) -> dict[str, Any]:
    """Returns what is known of a question, whoever is asked."""
    return {
        "question": question.question,
        "domain": question.domain or NO_DOMAIN,
        "split": question.split,
        "stress": [*question.stress],
        "grader": question.grader,
        "options": dict(question.options) if question.options else None,
        "evidence": [*question.evidence],
        "reasoning": question.reasoning,
    }


def retrieved(row: Row) -> dict[str, Any]:
    """Returns what is known of the retrieval; a matter that never came up cannot be hit."""
    return {
        "system": row.run.system,
        "hit": row.hit if row.present else None,
        "recalled": row.recalled if row.present else None,
        "evidence_shown": row.evidence_shown,
        "turns_shown": row.turns_shown,
        "context_tokens": row.context_tokens,
        "relevance": row.relevance,
        "llm_calls": row.llm_calls,
        "timing": row.timing.model_dump(exclude_none=True),
    }
