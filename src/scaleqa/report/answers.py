"""Whether the answers of a setting say anything: a reader that matches words is no model."""

from typing import Any

from scaleqa.report.groups import Setting

NO_MODEL = "No model answered here, so nothing is said about answers."
# What figures say about answers, by name.
_ANSWERS = frozenset(
    (
        "accuracy",
        "accuracy_interval",
        "audit",
        "batch_range",
        "domain_std",
        "rationale_similarity",
        "strict_accuracy",
        "strict_interval",
        "unanswered",
    )
)


def answers_count(setting: Setting) -> bool:
    """Tells whether a model answered, so that right and wrong answers mean something."""
    return not setting.backend.startswith("extractive")


def evidence_only(figures: Any) -> Any:
    """Leaves out of figures, as JSON, all that is about answers."""
    if isinstance(figures, dict):
        return {k: evidence_only(value) for k, value in figures.items() if k not in _ANSWERS}
    if isinstance(figures, list):
        return [evidence_only(one) for one in figures if not _about_answers(one)]
    return figures


def _about_answers(figures: Any) -> bool:
    return isinstance(figures, dict) and figures.get("measure") == "correct"
