"""How fast texts become vectors: ours beside sentence-transformers on torch.

    python bench/embed.py [--texts 300] [--json]

Both sides embed the same texts with the same weights on the same cores in the same run. The other
side runs where it is installed: pip install 'scaleqa[bench]'.
"""

import argparse
import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from tokenizers import Tokenizer

from tsim import environment
from tsim.embed import OnnxEmbedder, find_spec, machine_threads
from tsim.weights import require

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


def seconds(work: Callable[[], object]) -> float:
    """Takes the best of three: the machine's other work only ever slows a run down."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def import_seconds(module: str) -> float:
    command = [sys.executable, "-c", f"import {module}"]
    return seconds(lambda: subprocess.run(command, check=True))


def torch_side(model_dir: str, texts: Sequence[str]) -> dict[str, float]:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.set_num_threads(machine_threads())
    encoder = modules.Transformer(model_dir, max_seq_length=256)
    pooling = modules.Pooling(encoder.get_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[encoder, pooling, modules.Normalize()], device="cpu")
    model.encode(list(texts[:8]))
    return {
        "one": seconds(lambda: [model.encode([text]) for text in texts]),
        "batched": seconds(lambda: model.encode(list(texts), batch_size=32)),
        "import": import_seconds("sentence_transformers"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cache = environment.cache_dir()
    spec = find_spec("all-MiniLM-L6-v2")
    directory = require(cache, spec)
    texts = sample(options.texts)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    tokens = sum(len(encoded.ids) for encoded in tokenizer.encode_batch(texts))

    ours = OnnxEmbedder(
        directory, graphs=cache / "graphs", settings=spec.settings, identity=spec.identity
    )
    ours.embed(texts[:8])
    rows = {
        "tsim (ONNX Runtime)": {
            "one": seconds(lambda: [ours.embed([text]) for text in texts]),
            "batched": seconds(lambda: ours.embed(texts)),
            "import": import_seconds("tsim.embed"),
        }
    }
    if importlib.util.find_spec("sentence_transformers"):
        rows["sentence-transformers (torch)"] = torch_side(str(directory), texts)
    result = {
        name: {
            "tokens_per_second_one_by_one": round(tokens / row["one"]),
            "tokens_per_second_batched": round(tokens / row["batched"]),
            "import_seconds": round(row["import"], 2),
        }
        for name, row in rows.items()
    }
    if options.json:
        print(json.dumps({"texts": len(texts), "tokens": tokens, "systems": result}, indent=2))
        return
    print(f"{len(texts)} texts, {tokens} tokens, {machine_threads()} threads, {spec.name}")
    print(f"{'':32}{'one by one':>14}{'batched':>14}{'import':>10}")
    for name, row in result.items():
        one, many, load = row.values()
        print(f"{name:32}{one:>10} t/s{many:>10} t/s{load:>8} s")
    if len(rows) == 2:
        a, b = rows.values()
        print(f"{'ratio':32}{b['one'] / a['one']:>13.2f}x{b['batched'] / a['batched']:>13.2f}x")
    else:
        print("sentence-transformers is not installed: pip install 'scaleqa[bench]'")


if __name__ == "__main__":
    main()
