"""Constructions against a local server, in this process or in one of its own."""

import json
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from scaleqa.backends import Stop
from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import app
from scaleqa.construct import Budget, Crew, Gate, Plan, carry_out, opened, spent
from scaleqa.construct.plan import read_plan
from tsim.http import Patience

# Servers of tests answer at once, or never.
PATIENCE = Patience(timeout=2.0, attempts=2, first_wait=0.001, longest_wait=0.001)


def plan_of(url: str = "http://127.0.0.1:9/v1", count: int = 3, **changes: Any) -> Plan:
    """A plan of a domain that does not ship."""
    models = {"writer": f"openai:writer@{url}", "reader": f"openai:reader@{url}"}
    found = {
        "domains": [{"name": "Gardening", "count": count}],
        "models": models | changes.pop("models", {}),
        **changes,
    }
    return read_plan(found, "plan")


@contextmanager
def quiet(_label: str):
    yield lambda _done, _total: None


def work(plan: Plan, out: Path, budget: Budget | None = None, base: Path = Path()):
    """Carries a plan out in this process; returns the site."""
    with opened(out, plan, base=base) as site, ExitStack() as stack:
        stop = Stop()
        gate = Gate(budget or plan.budget, spent(site.ledger.receipts), stop)
        models = {}
        for who in ("writer", "reader"):
            if not plan.models.by_file(who):
                name, _, url = plan.models.spec(who).partition(":")[2].partition("@")
                model = OpenAI(name, base_url=url, limiter=gate, patience=PATIENCE, stop=stop)
                models[who] = stack.enter_context(closing(model))
        carry_out(site, Crew(models=models, gate=gate, stop=stop), quiet)
        return site


def released(site) -> dict[str, Any]:
    """What a construction released, by id."""
    return {
        item.id: site.book.track.product(item).model_dump()
        for item in site.book.items.values()
        if item.step == "released"
    }


def write_plan(path: Path, plan: Plan) -> Path:
    path.write_text(plan.model_dump_json())
    return path


def scaleqa(*words: object) -> Result:
    """Runs `scaleqa` in this process."""
    return CliRunner().invoke(app, [*map(str, words)])


def command(*words: object, check: int = 0) -> str:
    """Runs `scaleqa construct` in this process; returns what it prints."""
    ran = scaleqa("construct", *words)
    assert ran.exit_code == check, (ran.output, ran.exception)
    return ran.stdout


def json_of(*words: object, check: int = 0) -> Any:
    """Runs it with --json."""
    return json.loads(command(*words, "--json", check=check))


def started(*words: object) -> subprocess.Popen[str]:
    """Starts it in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "scaleqa", "construct", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
