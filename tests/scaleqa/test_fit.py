"""The weights that ship are those that the fit gives."""

import json
import os

import pytest

from scaleqa.fit import fit
from tsim.embed import open_embedder
from tsim.fitted import content as shipped_content
from tsim.fitted import load, parse, shipped
from tsim.presets import WEIGHTED

# Vectors and linear algebra differ in their last digits between processors; quantiles and nearly
# collinear features amplify that.
CLOSE = 0.05


def numbers(content, path=()):
    """Yields every number of a file of weights, with its path."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from numbers(value, (*path, name))
        elif not isinstance(value, str):
            yield (*path, name), value


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("TSIM_REFIT"), reason="takes some minutes; run with TSIM_REFIT=1"
)
@pytest.mark.parametrize(
    ("preset", "model"), [(preset, model) for preset in WEIGHTED for model in shipped(preset)]
)
def test_a_fit_gives_the_weights_that_ship(preset, model, both):
    """Takes some minutes; vectors come from the cache if the same texts were embedded before."""
    shipped = shipped_content(preset, model)
    seen = []
    content = fit(
        open_embedder(model, cached=True),
        model=model,
        preset=preset,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert parse(content, "the fit").fitted_on == load(preset, model).fitted_on
    assert seen[-1][0] == seen[-1][1]
    if content != shipped:
        found, expected = dict(numbers(json.loads(content))), dict(numbers(json.loads(shipped)))
        assert found.keys() == expected.keys()
        far = {
            "/".join(name): (found[name], expected[name])
            for name in found
            if found[name] != pytest.approx(expected[name], rel=CLOSE, abs=0.02)
        }
        assert not far, "refit with: scaleqa fit"
