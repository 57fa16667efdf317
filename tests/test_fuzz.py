"""Everything that reads what others have written: own errors come out of it, and nothing else."""

import pytest

from tests.support.fuzzing import fuzz
from tests.support.parsers import targets

INPUTS = 150


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    return [*targets(tmp_path_factory.mktemp("fuzz"))]


def check(target):
    found = fuzz(target, seed=1, inputs=INPUTS)
    assert not found.failures, target.name
    assert found.inputs == INPUTS
    assert found.accepted >= len(target.seeds), target.name


def test_only_own_errors_come_out(every):
    for target in every:
        check(target)


def test_the_same_seed_gives_the_same_inputs(every):
    target = every[0]
    seen = []
    for _ in range(2):
        noted = []
        fuzz(type(target)(name="x", seeds=target.seeds, read=noted.append), seed=3, inputs=50)
        seen.append(noted)
    assert seen[0] == seen[1]
    assert len({*seen[0]}) > 30
