"""Files of fitted weights."""

import json

import pytest

from tsim import Memory
from tsim.embed.models import find_model
from tsim.environment import default_model
from tsim.errors import InputError
from tsim.fitted import GROUPS, UNFITTED, apply, describe, load, parse, read, shipped
from tsim.fitted import content as shipped_content
from tsim.presets import (
    LATE,
    LIGHT,
    PRESETS,
    UNFITTED_LATE,
    WEIGHTED,
    late_for,
    suited,
    unfitted,
    written_with,
)
from tsim.rank.fitted import RUN_FEATURES, TURN_FEATURES

MODEL = "all-MiniLM-L6-v2"


def content():
    return json.loads(shipped_content(LATE.name, MODEL))


def changed(*path, value=None):
    out = content()
    *groups, last = path
    inner = out
    for group in groups:
        inner = inner[group]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(out).encode()


def test_shipped_weights_are_those_of_the_preset():
    for name, (preset, constants) in WEIGHTED.items():
        weights = load(name, MODEL)
        assert weights.model == MODEL
        assert len(weights.fitted_on) == 64
        assert apply(constants, weights) == preset.settings
        assert preset.settings.fitted != UNFITTED
        assert 0 < preset.settings.fitted.min_relevance < 1
    assert LATE.settings.fitted != LIGHT.settings.fitted


@pytest.mark.parametrize(
    ("preset", "model"), [(preset, model) for preset in WEIGHTED for model in shipped(preset)]
)
def test_a_model_is_used_with_the_weights_that_were_fitted_for_it(preset, model):
    weights = load(preset, model)
    assert weights.model == model
    assert parse(describe_again(weights), model) == weights
    identity = find_model(model).identity
    assert late_for(identity, preset).settings == apply(unfitted(preset), weights)
    assert suited(PRESETS[preset], identity) == late_for(identity, preset)


def test_weights_ship_for_the_default_model(monkeypatch):
    monkeypatch.delenv("TSIM_MODEL", raising=False)
    assert all(default_model() in shipped(preset) for preset in WEIGHTED)


def test_the_preset_of_a_file_is_known_whichever_model_it_was_written_with(tmp_path, tiny_embedder):
    for name in PRESETS:
        with Memory.open(tmp_path / name, model=tiny_embedder, preset=name) as memory:
            memory.thread("a").add("user", "The key is under the third pot.")
        with Memory.open(tmp_path / name, model=tiny_embedder) as memory:
            assert memory.preset.name == name
            assert memory.thread("a").search("Where is the key?")
    assert written_with("somebody's/0123456789ab") is LATE


def test_only_presets_with_weights_can_be_fitted():
    with pytest.raises(
        InputError, match="no preset 'official' has weights; use one of late, light"
    ):
        unfitted("official")


def describe_again(weights):
    settings = apply(UNFITTED_LATE, weights)
    return describe(settings, model=weights.model, fitted_on=weights.fitted_on)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (b"", "not a file of fitted weights"),
        (b"{", "not a file of fitted weights"),
        (b"[1, 2]", "not a file of fitted weights"),
        (b"\xff\xfe", "not a file of fitted weights"),
        (changed("extension"), "Field required"),
        (changed("relevance"), "Field required"),
        (changed("surplus", value=1.0), "Unexpected keyword argument"),
        (changed("run", "cosine", value="much"), "valid number"),
        (changed("run", "cosine", value=float("nan")), "finite number"),
        (changed("turn", "words", value=float("inf")), "finite number"),
        (changed("min_relevance", value=float("nan")), "finite number"),
        (changed("boundary", "bias", value=float("-inf")), "finite number"),
        (changed("run", "cosine"), r"other features \(run: \['cosine'\]\)"),
        (changed("turn", "mood", value=1.0), r"other features \(turn: \['mood'\]\)"),
        (changed("presence", "bias"), r"other features \(presence: \['bias'\]\)"),
        (changed("relevance", "mass"), r"other features \(relevance: \['mass'\]\)"),
        (changed("boundary", "user_weight"), r"other features \(boundary: \['user_weight'\]\)"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_the_reason(tmp_path, broken, problem):
    path = tmp_path / "weights.json"
    path.write_bytes(broken)
    for attempt in (lambda: parse(broken, str(path)), lambda: read(path)):
        with pytest.raises(InputError, match=problem) as caught:
            attempt()
        assert str(path) in str(caught.value)
        assert "scaleqa fit" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.json cannot be read: No such file"):
        read(tmp_path / "nowhere.json")


def test_the_order_of_names_in_a_file_does_not_matter():
    shuffled = content()
    for group in GROUPS:
        shuffled[group] = dict(reversed(shuffled[group].items()))
    weights = parse(json.dumps(shuffled).encode(), "shuffled")
    assert apply(UNFITTED_LATE, weights) == LATE.settings


def test_similarity_counts_more_with_a_model_that_has_no_weights_of_its_own():
    other, own = late_for("somebody's model").settings.fitted, LATE.settings.fitted
    for names, found, fitted in (
        (RUN_FEATURES, other.run, own.run),
        (TURN_FEATURES, other.turn, own.turn),
    ):
        for name, weight, before in zip(names, found, fitted, strict=True):
            compared = name.split(" × ")[0] in ("cosine", "cosine before", "run above turn")
            assert weight == before * (2 if compared else 1), name
    assert other.min_relevance == 0
