"""What things are called on pages about an audit."""

SCALE_NAMES = {
    "naturalness": "naturalness",
    "answerability": "answerability",
    "ambiguity": "ambiguity risk",
    "plausibility": "constraint plausibility",
}
CUE_NAMES = {
    "state_overwrite": "state overwrite",
    "long_range_bridge": "long-range bridge",
    "constraint_trap": "constraint trap",
    "none": "none",
    "needs_adjudication": "needs adjudication",
}
QUESTION_NAMES = {"answer": "answer", **SCALE_NAMES, "primary": "primary cue", **CUE_NAMES}
FORM_NAMES = {
    "choice": "question and options",
    "open": "question",
    "chat": "dialogue alone",
}
