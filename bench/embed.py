"""How fast texts become vectors: the fetched models, and sentence-transformers on torch.

    python bench/embed.py [--texts 300] [--threads N] [--json]

All embed the same texts on the same cores in the same run. sentence-transformers runs the weights
of MiniLM, where it is installed: pip install 'scaleqa[bench]'. Processor time depends less than
elapsed time on what else the machine does; compare it with --threads 1, as idle threads spin.
"""

import argparse
import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from tsim import environment
from tsim.embed import KNOWN_MODELS, find_spec, machine_threads, open_embedder
from tsim.weights import fetched, model_dir, require

BASE = "all-MiniLM-L6-v2"

WORDS = (
    "the a to of and in that it is was for on with as you we they can please could would order "
    "invoice server rule garden train recipe budget meeting letter price window printer report "
    "morning ticket project customer delivery exception policy version switch contract dosage"
).split()
# Turns of assistant threads: mostly short, some pasted documents. (share, fewest, most words)
LENGTHS = ((0.55, 3, 25), (0.33, 26, 80), (0.12, 81, 300))


def sample(count: int) -> list[str]:
    rng = random.Random(7)
    texts = []
    for _ in range(count):
        _, low, high = rng.choices(LENGTHS, weights=[share for share, _, _ in LENGTHS])[0]
        texts.append(" ".join(rng.choices(WORDS, k=rng.randint(low, high))))
    return texts


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Takes the best of three: the machine's other work only ever slows a run down."""
    best = float("inf")
    for _ in range(3):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def import_seconds(module: str) -> float:
    command = [sys.executable, "-c", f"import {module}"]
    return seconds(lambda: subprocess.run(command, check=True))


def torch_side(model_dir: str, texts: Sequence[str], threads: int) -> dict[str, float]:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.set_num_threads(threads)
    encoder = modules.Transformer(model_dir, max_seq_length=256)
    pooling = modules.Pooling(encoder.get_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[encoder, pooling, modules.Normalize()], device="cpu")
    model.encode(list(texts[:8]))
    return {
        "one": seconds(lambda: [model.encode([text]) for text in texts]),
        "batched": seconds(lambda: model.encode(list(texts), batch_size=32)),
        "cpu": seconds(lambda: model.encode(list(texts), batch_size=32), time.process_time),
        "import": import_seconds("sentence_transformers"),
    }


def our_side(name: str, texts: Sequence[str], threads: int) -> dict[str, float]:
    ours = open_embedder(name, threads=threads)
    ours.embed(texts[:8])
    return {
        "one": seconds(lambda: [ours.embed([text]) for text in texts]),
        "batched": seconds(lambda: ours.embed(texts)),
        "cpu": seconds(lambda: ours.embed(texts), time.process_time),
        "import": import_seconds("tsim.embed"),
    }


def count_tokens(directory: Path, most: int, texts: Sequence[str]) -> int:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return sum(len(encoded.ids) for encoded in tokenizer.encode_batch(list(texts)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--threads", type=int, default=machine_threads())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cache = environment.cache_dir()
    directory = require(cache, find_spec(BASE))
    texts = sample(options.texts)
    rows: dict[str, dict[str, float]] = {}
    for spec in KNOWN_MODELS:
        if fetched(cache, spec.parts):
            # Of joined models, each reads as many tokens as the first.
            first = spec.parts[0]
            tokens = count_tokens(model_dir(cache, first), first.settings.max_tokens, texts)
            rows[f"tsim, {spec.name}"] = {
                "tokens": tokens,
                **our_side(spec.name, texts, options.threads),
            }
    if importlib.util.find_spec("sentence_transformers"):
        tokens = count_tokens(directory, find_spec(BASE).settings.max_tokens, texts)
        torch_row = torch_side(str(directory), texts, options.threads)
        rows[f"torch, {BASE}"] = {"tokens": tokens, **torch_row}
    result = {
        name: {
            "tokens": row["tokens"],
            "tokens_per_second_one_by_one": round(row["tokens"] / row["one"]),
            "tokens_per_second_batched": round(row["tokens"] / row["batched"]),
            "tokens_per_cpu_second": round(row["tokens"] / row["cpu"]),
            "import_seconds": round(row["import"], 2),
        }
        for name, row in rows.items()
    }
    if options.json:
        print(json.dumps({"texts": len(texts), "systems": result}, indent=2))
        return
    print(f"{len(texts)} texts, {options.threads} threads; tokens per second")
    print(f"{'':28}{'tokens':>8}{'one by one':>12}{'batched':>10}{'of CPU':>10}{'import':>10}")
    for name, row in result.items():
        length, one, many, cpu, load = row.values()
        print(f"{name:28}{length:>8}{one:>12}{many:>10}{cpu:>10}{load:>8} s")
    if not importlib.util.find_spec("sentence_transformers"):
        print("sentence-transformers is not installed: pip install 'scaleqa[bench]'")


if __name__ == "__main__":
    main()
