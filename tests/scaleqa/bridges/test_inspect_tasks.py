"""Tasks that the real Inspect finds by name and runs, with its mock model."""

import gc
from dataclasses import replace

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT
from inspect_ai.solver import solver

from scaleqa.bridges.inspect.tasks import threads
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_packages
from scaleqa.judges import Task, open_judge
from scaleqa.packages import write_packages
from tests.support.bridging import reply_to, two_packages

# Inspect's libraries warn each other of their next versions.
pytestmark = pytest.mark.filterwarnings("default")
USAGE = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)


def said(text):
    """A reply with its usage: without one, the mock model counts with a file from the network."""
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = USAGE
    return output


def model(reply):
    """A model whose reply depends on the prompt, however samples are scheduled."""
    answer = lambda messages, *_: said(reply(messages[-1].text))  # noqa: E731
    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def drawn(prompt):
    return reply_to(prompt.partition("Request: ")[2].partition("\n")[0])


@pytest.fixture(scope="module")
def packages():
    return two_packages()


@pytest.fixture
def run(packages, tiny, tmp_path, monkeypatch):
    """Evaluates a task; what Inspect keeps for its user goes elsewhere."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    write_packages(packages, tmp_path / "packages")

    def go(reply=drawn, *, where="packages", arguments=(), **options):
        args = {"dataset": str(tmp_path / where), "embedder": str(tiny), **dict(arguments)}
        (log,) = evaluate(
            "scaleqa/threads",
            task_args=args,
            model=model(reply),
            display="none",
            log_dir=str(tmp_path / "logs"),
            **options,
        )
        assert log.status == "success", log.error
        return log

    yield go
    gc.collect()  # streams that Inspect leaves open warn when they go, which is to be here


def figures(log):
    return {
        one.name: {name: metric.value for name, metric in one.metrics.items()}
        for one in log.results.scores
    }


def test_a_task_measures_what_our_own_run_measures(run, packages, tiny_embedder):
    log = run(arguments={"system": "bm25_chunks"})
    ours = {
        row.id: row
        for row in run_packages(packages, RunSettings(system="bm25_chunks"), tiny_embedder)
    }
    assert {sample.id for sample in log.samples} == {*ours}
    earned = []
    for sample in log.samples:
        row = ours[sample.id]
        assert sample.metadata["context"] == row.detail.context
        assert sample.metadata["hit"] == row.hit
        assert sample.metadata["evidence"] == [*row.evidence]
        assert sample.metadata["context_tokens"] == row.context_tokens
        task = Task(question=row.question, gold=row.gold, options=row.options)
        verdict = open_judge("letter").grade(task, reply_to(row.question))
        assert (sample.scores["answers"].value == CORRECT) == verdict.correct
        assert sample.scores["answers"].answer == verdict.answer
        earned.append(0.25 if verdict.answer is None else float(verdict.correct))
    found = figures(log)
    assert 0.25 in earned
    assert found["credited"]["mean"] == pytest.approx(sum(earned) / len(earned))
    assert found["answers"]["accuracy"] == pytest.approx(earned.count(1.0) / len(earned))
    hits = [row.hit for row in ours.values()]
    assert found["hits"]["accuracy"] == pytest.approx(sum(hits) / len(hits))
    assert {"Finance", "Legal"} <= {*found["hits"]} & {*found["answers"]} & {*found["credited"]}


def test_the_memory_also_runs_before_a_solver_of_the_users(run):
    seen = []

    @solver
    def own():
        async def solve(state, generate):
            seen.append(state.user_prompt.text)
            state.output = said("ANSWER: A")
            return state

        return solve

    log = run(arguments={"system": "bm25_chunks", "sample": 3}, solver=own())
    assert len(log.samples) == len(seen) == 3
    for sample in log.samples:
        assert any(sample.metadata["context"] in prompt for prompt in seen)


def test_smaller_samples_are_part_of_larger_ones(packages, tiny, tmp_path):
    write_packages(packages, tmp_path / "packages")

    def ids(**more):
        task = threads(str(tmp_path / "packages"), "zero_shot", embedder=str(tiny), **more)
        return [sample.id for sample in task.dataset]

    every = [question.id for package in packages for question in package.questions]
    assert ids() == every
    assert len(ids(sample=5)) == 5
    assert {*ids(sample=5)} < {*ids(sample=9)}
    assert ids(sample=5) == [one for one in every if one in ids(sample=5)]
    assert ids(sample=5) != ids(sample=5, seed=1)
    with pytest.raises(DataError, match="sample is 0"):
        ids(sample=0)


def test_commas_of_the_command_line_are_put_together_again(tiny):
    task = threads(
        ["scaleqa:target=0", "subset=3"], ["tsim:budget=90", "k=3"][:1], embedder=str(tiny)
    )
    assert len(task.dataset) == 3
    assert task.metadata["dataset"] == "scaleqa:target=0,subset=3"
    limited = threads("scaleqa:target=0,subset=3", budget=70, embedder=str(tiny))
    assert limited.metadata["system"] == "tsim:budget=70"


@pytest.mark.parametrize("word", ["yes", "no"])
def test_free_answers_are_graded_by_the_model_in_the_role_of_grader(run, packages, tmp_path, word):
    free = [
        replace(
            package,
            questions=tuple(
                replace(one, options=None, answer="Lyon", grader="judge")
                for one in package.questions[:2]
            ),
        )
        for package in packages
    ]
    write_packages(free, tmp_path / "free")
    asked = []

    def grade(prompt):
        asked.append(prompt)
        return word

    log = run(
        lambda _: "ANSWER: the city of Lyon",
        where="free",
        arguments={"system": "zero_shot"},
        model_roles={"grader": model(grade)},
    )
    assert len(asked) == len(log.samples) == 2 * len(packages)
    assert all("Given answer: the city of Lyon" in prompt for prompt in asked)
    found = figures(log)
    assert [*found] == ["answers", "hits"]  # a guess at a free answer earns nothing
    assert found["answers"]["accuracy"] == float(word == "yes")
    assert log.samples[0].scores["answers"].metadata["judge"].startswith("judge/judge.v1/")


def test_what_cannot_be_asked_is_refused_before_anything_is_spent(packages, tiny, tmp_path):
    write_packages(packages, tmp_path / "packages")
    where = str(tmp_path / "packages")
    with pytest.raises(DataError, match="for questions with options"):
        threads(where, "zero_shot", prompt="free-answer.v1", embedder=str(tiny))
    with pytest.raises(DataError, match="did you mean tsim"):
        threads(where, "tsmi", embedder=str(tiny))
