"""Compares the token estimate with real tokenizers on the texts of the tests.

    python bench/tokens.py bert-uncased=path/to/tokenizer.json cl100k_base=tiktoken:cl100k_base

Each argument is a name and a value that `Memory.open(tokens=…)` accepts. `--record` writes the
counts to the file that the tests compare the estimate with; other tokenizers in it stay.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support import corpus

from tsim.counting import open_measure
from tsim.tokens import estimate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tokenizers", nargs="*", metavar="NAME=TOKENS")
    parser.add_argument("--record", action="store_true", help="write the counts for the tests")
    arguments = parser.parse_args()
    given = dict(one.split("=", 1) for one in arguments.tokenizers)
    texts = corpus.texts()
    found = {
        name: {title: open_measure(tokens).size(text) for title, text in texts.items()}
        for name, tokens in given.items()
    }
    if arguments.record:
        kept = {**(corpus.counts() if (corpus.FOLDER / "counts.json").exists() else {}), **found}
        out = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (corpus.FOLDER / "counts.json").write_text(out, "utf-8")
    for name, counts in sorted((found or corpus.counts()).items()):
        suited = {title for title in counts if corpus.suits(name, texts[title])}
        ratios = {title: estimate(texts[title]) / counts[title] for title in suited}
        lowest = min(ratios, key=lambda title: ratios[title])
        english = statistics.mean(ratios[title] for title in suited if title.startswith("english"))
        print(
            f"{name:14} {len(suited):3} texts: estimate / count at least {ratios[lowest]:.2f} "
            f"({lowest}), mean {statistics.mean(ratios.values()):.2f}, English {english:.2f}"
        )


if __name__ == "__main__":
    main()
