"""Lengths: the paper's count by words, the estimate, words as a feature, and given counters."""

import json
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import corpus
from tsim import environment, tokens
from tsim.counting import open_measure
from tsim.embed.models import find_spec
from tsim.errors import InputError
from tsim.weights import model_dir

TOKENIZERS = (
    "bert-uncased cl100k_base deepseek-v3 gemma llama-3 mistral-nemo o200k_base qwen-2.5".split()
)
PROSE = [name for name in corpus.texts() if name.startswith("english")]


@given(st.integers(0, 10**9))
def test_tokens_are_words_times_one_point_three_rounded(words):
    assert abs(10 * tokens.from_words(words) - 13 * words) <= 5


@given(st.integers(0, 10**6))
def test_words_within_a_budget_are_the_most_that_fit(budget):
    most = tokens.words_within(budget)
    assert tokens.from_words(most) <= budget or most == 0
    assert tokens.from_words(most + 1) > budget


def test_words_are_separated_by_any_whitespace():
    assert tokens.by_words("one two\nthree\tfour  five") == 7
    assert tokens.by_words("") == 0


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_text_has_many_more_tokens_than_estimated(name):
    counted = corpus.counts()[name]
    assert counted.keys() == corpus.texts().keys()
    short = {
        title: tokens.estimate(text) / counted[title]
        for title, text in corpus.texts().items()
        if corpus.suits(name, text) and tokens.estimate(text) < 0.9 * counted[title]
    }
    assert not short


@pytest.mark.parametrize("name", TOKENIZERS)
def test_english_prose_has_not_many_fewer_tokens_than_estimated(name):
    ratios = [tokens.estimate(corpus.texts()[n]) / corpus.counts()[name][n] for n in PROSE]
    assert max(ratios) <= 1.25
    assert statistics.mean(ratios) <= 1.15


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_tiktoken_counts_what_was_recorded(name):
    pytest.importorskip("tiktoken")
    try:
        measure = open_measure(f"tiktoken:{name}")
    except InputError as error:
        pytest.skip(f"{error}"[:200])
    for title, text in corpus.texts().items():
        assert measure.size(text) == corpus.counts()[name][title]


def test_a_tokenizer_file_counts_what_was_recorded(minilm):
    directory = model_dir(environment.cache_dir(), find_spec("all-MiniLM-L6-v2"))
    measure = open_measure(directory / "tokenizer.json")
    for title, text in corpus.texts().items():
        assert measure.size(text) == corpus.counts()["bert-uncased"][title]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"))))
def test_the_estimates_of_lines_add_up(lines):
    whole = "".join(f"{line}\n" for line in lines)
    assert tokens.ESTIMATE.size(whole) <= sum(tokens.ESTIMATE.size(f"{n}\n") for n in lines)


@given(st.text(), st.text())
def test_more_text_is_never_estimated_shorter_by_more_than_a_word(first, second):
    both = tokens.ESTIMATE.size(first + second)
    assert both + tokens.ESTIMATE.room(2) + 44 * 64 >= max(
        map(tokens.ESTIMATE.size, (first, second))
    )


@pytest.mark.parametrize(
    "char", ["a", "Z", "7", "=", " ", "\t", "\n", "字", "ก", "é", "\u0301", "😀"]
)
def test_a_text_of_one_character_a_million_times_is_estimated_in_proportion(char):
    small, large = (tokens.estimate(char * n) for n in (10_000, 1_000_000))
    assert large <= 101 * small + 100


def test_a_function_can_count():
    assert open_measure(len).size("four") == 4
    assert open_measure(len).room(10) == 10


@pytest.mark.parametrize("wrong", [-1, 1.5, None, "3"])
def test_a_function_that_does_not_count_is_named(wrong):
    with pytest.raises(InputError, match="must return the number of tokens, a whole number"):
        open_measure(lambda text: wrong).size("text")


def test_what_cannot_count_is_refused(tmp_path):
    (tmp_path / "broken.json").write_text(json.dumps({"model": 1}))
    for wrong, found in (
        ("gpt", "'gpt' is no known counter and no file; use 'estimate', 'words'"),
        (tmp_path, "no file"),
        (17, "tokens=17 cannot count tokens"),
        (tmp_path / "broken.json", "broken.json is not a tokenizer file"),
    ):
        with pytest.raises(InputError, match=found):
            open_measure(wrong)


def test_an_encoding_that_cannot_be_fetched_is_refused(monkeypatch):
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")

    def fetch(name):
        raise ConnectionError("no network")

    monkeypatch.setattr(tiktoken, "get_encoding", fetch)
    with pytest.raises(InputError, match="could not fetch 'gpt2': no network"):
        open_measure("tiktoken:gpt2")


def test_tiktoken_is_asked_for_by_name():
    try:
        import tiktoken  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match="needs tiktoken, which is not installed"):
            open_measure("tiktoken:cl100k_base")
    else:
        with pytest.raises(InputError, match="no encoding or model 'nonsense'"):
            open_measure("tiktoken:nonsense")
