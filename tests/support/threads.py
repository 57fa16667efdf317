"""A short thread."""

from scaleqa.packages import StreamTurn

THREAD = [
    "the rule says one gpu only",
    "bread and train",
    "for new projects",
    "budget letter budget letter",
    "train the bread",
    "only one letter",
    "the gpu rule",
    "projects says new",
] * 6


def thread(texts=THREAD, start=0):
    return [
        StreamTurn(id=start + n, role=("user", "model")[n % 2], text=f"{text} {start + n}")
        for n, text in enumerate(texts)
    ]
