"""A reader without a model: it matches words, and says so.

It takes the line of the context that shares most with the request, and the option that shares most
with that line and its neighbours. It shows that the machinery runs; its accuracy says little about
a memory, since records are written so that matching words does not find the answer.
"""

from scaleqa.backends.protocol import Reply, Request
from tsim.index import Postings, terms

NEAR = 3


class Extractive:
    """Chooses an option by shared words."""

    identity = "extractive/1"
    stand_in = True

    def reply(self, request: Request) -> Reply:
        """Answers with the best-supported option; with no support at all, not."""
        lines = [line for line in request.context.splitlines() if terms(line)]
        if not lines:
            return Reply(text="ANSWER: none\nRATIONALE: nothing was retrieved")
        postings = Postings()
        for line in lines:
            postings.append(line)
        relevance = postings.scores(request.question)
        centre = int(relevance.argmax())
        support = {}
        for letter, option in sorted(request.options.items()):
            scores = postings.scores(option)
            weights = [1 / (1 + abs(place - centre) / NEAR) for place in range(len(lines))]
            support[letter] = sum(
                float(score) * weight for score, weight in zip(scores, weights, strict=True)
            )
        best = max(support, key=lambda letter: (support[letter], letter))
        if not support[best]:
            return Reply(text="ANSWER: none\nRATIONALE: no option shares a word with the excerpts")
        return Reply(text=f"ANSWER: {best}\nRATIONALE: {lines[centre]}")

    def close(self) -> None:
        """Nothing to let go of."""
