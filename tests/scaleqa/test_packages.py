"""The builder: deterministic, complete, within capacity."""

import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaleqa.errors import DataError
from scaleqa.lengths import parse_target
from scaleqa.packages import (
    build,
    load_packages,
    subset,
    write_packages,
)
from scaleqa.packages.mix import MOST_GAP, blocks, braid
from scaleqa.records import DOMAINS, LETTERS, SPLITS
from tests.support.records import NOISE, RECORDS, make, settings_of
from tsim import tokens

SIZE = tokens.from_words(91)


builds = st.builds(
    settings_of,
    st.sampled_from([0, 400, 1000, 3000, 9000]),
    truth_cap=st.sampled_from([0.5, 0.82, 1.0]),
    noise_seed=st.integers(0, 5),
    mix_seed=st.integers(0, 5),
    mix=st.sampled_from(["blocks", "braid"]),
)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(RECORDS), min_size=1, unique_by=lambda r: r.id), builds)
def test_every_record_is_in_one_batch_whole_in_order_and_within_capacity(records, wanted):
    packages = build(records, NOISE, wanted)
    asked = [query.id for package in packages for query in package.questions]
    assert sorted(asked) == sorted(record.id for record in records)
    by_id = {record.id: record for record in records}
    for package in packages:
        placed = [turn for block in (*package.truth, *package.noise) for turn in block.turns]
        assert sorted(placed) == list(range(len(package.stream)))
        assert [turn.id for turn in package.stream] == list(range(len(package.stream)))
        for block in package.truth:
            assert list(block.turns) == sorted(block.turns)
            texts = [package.stream[turn].text for turn in block.turns]
            assert texts == [turn.content for turn in by_id[block.source].dialogue]
        for query in package.questions:
            texts = [package.stream[turn].text for turn in query.evidence]
            assert texts == by_id[query.id].evidence_turns
        stats = package.stats
        if wanted.target:
            assert stats["tokens"] <= wanted.target + len(placed)
        if package.settings["regime"] == "length-batched":
            assert stats["truth_tokens"] <= wanted.truth_cap * wanted.target + len(package.truth)


def test_nothing_in_the_thread_tells_where_dialogues_begin():
    (package,) = build(RECORDS[:5], NOISE, settings_of(3000))
    assert {tuple(turn.__slots__) for turn in package.stream} == {("id", "role", "text", "at")}
    assert {turn.at for turn in package.stream} == {None}
    assert {turn.role for turn in package.stream} == {"user", "model"}


def test_regimes_follow_from_the_target():
    truth = len(RECORDS) * SIZE
    assert build(RECORDS, NOISE, settings_of(0))[0].settings["regime"] == "evidence-only"
    assert build(RECORDS, NOISE, settings_of(0))[0].noise == ()
    (full,) = build(RECORDS, NOISE, settings_of(truth + 1000))
    assert full.settings["regime"] == "full-corpus"
    assert abs(full.stats["tokens"] - truth - 1000) < 150
    batched = build(RECORDS, NOISE, settings_of(2000))
    assert {package.settings["regime"] for package in batched} == {"length-batched"}
    assert len(batched) == -(-len(RECORDS) // int(0.82 * 2000 // SIZE))


def test_the_same_inputs_give_the_same_bytes_in_any_process(tmp_path):
    """Compared by cmp, built by two processes with different hash seeds."""
    code = (
        "import sys; from pathlib import Path\n"
        "from pathlib import Path\n"
        "from scaleqa.packages import build, write_packages\n"
        "from tests.support.records import NOISE, RECORDS, settings_of\n"
        "write_packages(build(RECORDS[::-1], NOISE[::-1], settings_of(2000, mix='braid')),"
        " Path(sys.argv[1]))"
    )
    for name, seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)],
            check=True,
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
        )
    write_packages(build(RECORDS, NOISE, settings_of(2000, mix="braid")), tmp_path / "c")
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.json*"))
    assert len(files) % 7 == 0
    for file in files:
        for other in ("b", "c"):
            subprocess.run(["cmp", tmp_path / "a" / file, tmp_path / other / file], check=True)


def test_seeds_change_the_order_and_nothing_else():
    one = build(RECORDS[:9], NOISE, settings_of(3000, mix_seed=1))[0]
    two = build(RECORDS[:9], NOISE, settings_of(3000, mix_seed=2))[0]
    assert [turn.text for turn in one.stream] != [turn.text for turn in two.stream]
    assert Counter(t.text for t in one.stream) == Counter(t.text for t in two.stream)


def test_too_little_noise_says_how_much_is_missing():
    with pytest.raises(DataError, match=r"needs \d+ tokens of noise and the pool has \d+: \d+ are"):
        build(RECORDS[:2], NOISE[:3], settings_of(9000))


def test_a_record_that_fits_no_batch_is_named():
    with pytest.raises(DataError, match=r"s1:Finance-\d+ has \d+ tokens, a batch holds 82"):
        build(RECORDS, NOISE, settings_of(100))


def test_packages_are_read_back_and_changes_are_noticed(tmp_path):
    packages = build(RECORDS, NOISE, settings_of(3000))
    write_packages(packages, tmp_path / "out")
    assert load_packages(tmp_path / "out") == packages
    assert load_packages(tmp_path / "out" / "batch-02") == [packages[1]]
    with pytest.raises(DataError, match="not an empty directory"):
        write_packages(packages, tmp_path / "out")
    with (tmp_path / "out" / "batch-01" / "stream.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(DataError, match="the manifest says"):
        load_packages(tmp_path / "out")
    with pytest.raises(DataError, match="scaleqa build"):
        load_packages(tmp_path)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 14), max_size=60), st.integers(0, 99))
def test_a_braid_keeps_order_and_bounds_silence(lengths, seed):
    order = braid(lengths, random.Random(seed))
    assert Counter(order) == Counter(dict(enumerate(lengths)))
    for dialogue in range(len(lengths)):
        places = [place for place, one in enumerate(order) if one == dialogue]
        gaps = [b - a for a, b in pairwise(places)]
        assert max(gaps, default=0) <= MOST_GAP
    assert Counter(blocks(lengths, random.Random(seed))) == Counter(order)


def test_a_braid_is_truly_interleaved():
    order = braid([7] * 40, random.Random(1))
    adjacent = sum(a == b for a, b in pairwise(order))
    assert adjacent < len(order) / 2


@pytest.mark.parametrize("count", [10, 40, 80, 160, 400])
def test_a_subset_is_balanced_by_domain_letter_and_split(count):
    records = [
        make(n, split=split, domain=domain)
        for split in SPLITS
        for domain in DOMAINS
        for n in range(1, 31)
    ]
    chosen = subset(records, count, seed=3)
    assert len({record.id for record in chosen}) == count
    for key, kinds in (("domain", DOMAINS), ("answer", LETTERS), ("split", SPLITS)):
        counts = Counter(getattr(record, key) for record in chosen)
        assert max(counts.values()) - min(counts.get(k, 0) for k in kinds) <= 2
    assert chosen == subset(records[::-1], count, seed=3)
    assert chosen != subset(records, count, seed=4)
    with pytest.raises(DataError, match="there are"):
        subset(records, 10_000, seed=1)


@pytest.mark.parametrize(
    ("text", "tokens_"), [("0", 0), ("5000", 5000), ("16k", 16_000), ("1M", 1_000_000)]
)
def test_targets_are_read(text, tokens_):
    assert parse_target(text) == tokens_
    with pytest.raises(DataError, match="no length"):
        parse_target(f"{text}x")
