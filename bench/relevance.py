"""How right the relevances of single hits are, where half of what is asked never came up.

    python bench/relevance.py [--split s2] [--budget 500] [--model MODEL]

`scaleqa retrieve` judges the sum of a context's relevances against whether all evidence is in it.
Here every hit is judged by itself: its relevance against whether it holds evidence. Beside the
calibration error stands the one that exactly right relevances would have on as many hits.
"""

import argparse

from scaleqa.datasets import open_threads
from scaleqa.stats import calibration_error, exact_error
from tsim import environment
from tsim.embed import open_embedder
from tsim.fitting import Case, FittingThread
from tsim.presets import late_for
from tsim.rank.fitted import probability, relevance

TRACKS = {
    "as written": "target=128k,absent=true",
    "other words": "target=128k,wording=other,absent=true",
    "asides": "target=128k,asides=true,absent=true",
}
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", default="s2")
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--model", default=environment.default_model())
    options = parser.parse_args()
    embedder = open_embedder(options.model, cached=True)
    settings = late_for(embedder.identity).settings
    print(f"{'track':14}{'hits':>8}{'with evidence':>16}{'error':>8}{'if exact':>10}")
    for track, source in TRACKS.items():
        given, right = [], []
        for package in open_threads(f"scaleqa:split={options.split},{source}"):
            said = [(turn.role, turn.text) for turn in package.stream]
            thread = FittingThread(settings, embedder, said)
            for asked in package.questions:
                case = Case(text=asked.question, evidence=frozenset(asked.evidence), track=track)
                (found,) = thread.hits(settings, case, [options.budget])
                there = probability(settings.fitted.presence, found.question)
                for span, mass in zip(found.spans, found.masses, strict=True):
                    given.append(relevance(settings.fitted, there, mass))
                    right.append(bool(span & found.evidence))
        error, exact = calibration_error(given, right), exact_error(given, seed=SEED, draws=20)
        print(f"{track:14}{len(given):>8}{sum(right):>16}{error:>8.3f}{exact:>10.3f}", flush=True)


if __name__ == "__main__":
    main()
