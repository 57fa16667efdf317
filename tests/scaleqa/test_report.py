"""The report: figures checked by hand, a page that holds whatever texts say, a real browser."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scaleqa import __version__, paper
from scaleqa.backends import Reply, open_backend
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_packages
from scaleqa.evaluate.rowfile import all_rows, row_path, write_rows
from scaleqa.figures.breakdown import Cell, by_domain, by_stress, scaling
from scaleqa.figures.comparison import main_table, paired_table
from scaleqa.figures.costs import cost_table
from scaleqa.figures.exchanges import blocks, exchange_table
from scaleqa.figures.groups import group
from scaleqa.figures.scores import score
from scaleqa.figures.spread import Spread
from scaleqa.lengths import length_name
from scaleqa.packages import build
from scaleqa.pages.html import script_json, to_html
from scaleqa.pages.page import Page, Section
from scaleqa.pages.table import Column, Table
from scaleqa.report import figures_json, write_report
from scaleqa.report.details import Texts, choose, verdict
from scaleqa.report.words import finding, stand_ins, uneven
from scaleqa.stats import wilson
from scaleqa.systems import ordered
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import former_row, loop
from tests.support.runs import row as any_row

NASTY = (
    "</script><script>document.title='owned'</script><!-- \"it's\" & \u2028 <img src=x onerror=1>"
)


def row(number=0, system="tsim_official", *, backend="extractive/1", **changes):
    return any_row(number, system, backend=backend, **changes)


def answered(number=0, system="tsim_official", **changes):
    """The same, answered by a language model."""
    return row(number, system, **{"backend": "gpt-4o-mini@u", **changes})


def write(rows, out: Path) -> Path:
    files = {}
    for one in rows:
        path = row_path(out / f"{one.run.target}", one.run.system, one.run.package)
        files.setdefault(path, []).append(one)
    for path, own in files.items():
        write_rows(path, own)
    return out


def only(rows):
    (found,) = group(rows)
    return found


def test_the_main_table_is_what_a_hand_computes():
    rows = [
        answered(0, answer="A", domain="Legal", context_tokens=10),
        answered(1, answer="B", domain="Legal", context_tokens=20),
        answered(2, answer=None, domain="Biomed", hit=False, context_tokens=30),
        answered(0, answer="A", domain="Biomed", package="batch-02", context_tokens=100),
    ]
    (line,) = main_table(only(rows))
    scores = line.scores.answers
    assert scores.accuracy == (2 + 1 / 4) / 4
    assert scores.strict_accuracy == 0.5
    assert scores.unanswered == 0.25
    assert line.scores.hit == 0.75
    assert line.scores.hit_interval == wilson(3, 4)
    assert scores.rationale_similarity == 0.5
    assert line.context == Spread(mean=40, median=25, p95=30, most=100)
    legal, biomed = 1 / 2, (1 + 1 / 4) / 2
    assert line.domain_std == pytest.approx(abs(legal - biomed) / 2)
    assert line.batch_range == ((1 + 1 / 4) / 3, 1.0)


def test_rows_without_a_rationale_similarity_have_no_mean_of_it():
    old = [answered(n, rationale_similarity=None) for n in range(2)]
    assert score(old).answers.rationale_similarity is None


def test_the_first_system_is_paired_with_each_other_on_common_questions():
    rows = [row(n, "tsim_official", hit=True) for n in range(4)]
    rows += [row(n, "standard_rag", hit=False) for n in range(3)]
    rows += [row(9, "other")]
    (pair,) = paired_table(only(rows))
    assert (pair.first, pair.second, pair.questions) == ("tsim_official", "standard_rag", 3)
    hit = next(one for one in pair.measures if one.measure == "hit")
    assert hit.difference.difference == 1
    assert hit.mcnemar_p == pytest.approx(0.25)


def test_exchanges_are_counted_and_followed_along_the_order():
    rows = [row(n, hit=n < 30, exchanges=2 if n >= 20 else 0) for n in range(60)]
    (found,) = exchange_table(only(rows))
    assert found.shown == 30 * 3 + 30 * 2 + 80
    assert found.from_exchanges == 80
    assert (found.with_some, found.questions) == (40, 60)
    assert found.hit_with == 10 / 40
    assert found.hit_without == 1
    assert [(block.end, block.questions, block.hit) for block in found.blocks] == [
        (0.25, 15, 1), (0.5, 15, 1), (0.75, 15, 0), (1, 15, 0),
    ]  # fmt: skip


def test_parts_of_several_packages_are_pooled():
    rows = [row(n, package=p, hit=n < 8) for p in ("batch-01", "batch-02") for n in range(16)]
    assert [(b.questions, b.hit) for b in blocks(rows)] == [(16, 1), (16, 0)]


def test_domains_and_stress_labels_are_told_apart():
    rows = [
        answered(0, domain="Legal", stress=["trap", "bridge"]),
        answered(1, domain="Biomed", stress=["trap"], answer=None, hit=False),
    ]
    found = only(rows)
    assert by_domain(found) == {
        "Biomed": {"tsim_official": Cell(questions=1, accuracy=0.25, hit=0)},
        "Legal": {"tsim_official": Cell(questions=1, accuracy=1, hit=1)},
    }
    assert by_stress(found)["trap"]["tsim_official"] == Cell(
        questions=2, accuracy=1.25 / 2, hit=0.5
    )
    assert by_stress(found)["bridge"]["tsim_official"].questions == 1


def test_lengths_are_followed_only_where_there_are_two():
    short = [answered(n, target=16_000, hit=True) for n in range(4)]
    long = [answered(n, target=128_000, hit=n < 2, answer=None) for n in range(4)]
    assert scaling(group(short)) == []
    (found,) = scaling(group(long + short))
    one, two = found.systems["tsim_official"]
    assert (one.target, one.hit, one.answers.accuracy) == (16_000, 1, 1)
    assert (two.target, two.hit, two.answers.accuracy) == (128_000, 0.5, 0.25)
    assert two.hit_interval == wilson(2, 4)
    assert two.answers.accuracy_interval == wilson(1, 4)


def test_costs_are_added_up_and_left_out_where_rows_do_not_tell():
    times = [1.0, 2.0, 3.0, 50.0]
    rows = [row(n, retrieve_ms=t, cost_usd=0.25, llm_calls=n) for n, t in enumerate(times)]
    (cost,) = cost_table(only(rows))
    assert (cost.prompt_tokens, cost.completion_tokens, cost.context_tokens) == (80, 20, 40)
    assert (cost.retrieve_p50_ms, cost.retrieve_p95_ms) == (2.5, 3.0)
    assert (cost.llm_calls, cost.cost_usd) == (6, 1.0)
    (cost,) = cost_table(only([row(0), row(1, cost_usd=1.0)]))
    assert cost.cost_usd is None


def test_rows_are_grouped_by_what_they_share():
    rows = [row(0), row(0, "oracle"), row(0, target=128_000), row(0, backend="gpt-4o-mini@u")]
    found = group(rows)
    assert [(one.setting.target, one.setting.backend, one.systems) for one in found] == [
        (128_000, "extractive/1", ["tsim_official"]),
        (16_000, "gpt-4o-mini@u", ["tsim_official"]),
        (16_000, "extractive/1", ["tsim_official", "oracle"]),
    ]
    with pytest.raises(DataError, match="tsim_official has two rows for batch-01-000 at 16k"):
        group([row(0), row(0)])


def test_systems_stand_in_a_fixed_order_with_ours_first_and_bounds_last():
    names = [
        "zero_shot",
        "oracle",
        "mine",
        "standard_rag",
        "tsim_official:k=3",
        "tsim_official",
        "tsim",
    ]
    assert ordered(names) == [
        "tsim", "tsim_official", "tsim_official:k=3", "standard_rag", "mine", "oracle", "zero_shot",
    ]  # fmt: skip


def test_lengths_are_named_as_users_write_them():
    assert [length_name(t) for t in (0, 500, 16_000, 1_000_000, None)] == [
        "evidence only", "0.5k", "16k", "1M", "unknown length",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (answered(), "all evidence in context; answered correctly"),
        (answered(answer="C"), "all evidence in context; answered C, which is wrong"),
        (
            answered(hit=False),
            "1 of 2 evidence turns in context; answered correctly all the same",
        ),
        (
            answered(hit=False, answer=None, exchanges=3),
            "1 of 2 evidence turns in context; gave no answer; "
            "3 of 5 turns shown were earlier exchanges",
        ),
        (
            answered(evidence=[7], hit=False, answer="B", exchanges=1),
            "the evidence turn is not in context; answered B, which is wrong; "
            "1 of 3 turns shown was an earlier exchange",
        ),
        (
            answered(shown=[], hit=False, answer="B"),
            "none of 2 evidence turns in context; answered B, which is wrong",
        ),
    ],
)
def test_a_verdict_says_why(one, said):
    assert verdict(one) == said


def test_a_verdict_is_about_evidence_alone_where_no_model_answered():
    assert verdict(row(hit=False, answer="B", exchanges=3)) == (
        "1 of 2 evidence turns in context; 3 of 5 turns shown were earlier exchanges"
    )


def test_disagreements_come_first_and_choices_are_spread_evenly():
    split = set(range(0, 40, 4))
    rows = [row(n, "tsim_official") for n in range(40)]
    rows += [row(n, "standard_rag", hit=n not in split) for n in range(40)]
    rows += [row(n, "zero_shot", hit=False, answer=None) for n in range(40)]
    found = group(rows)

    def chosen(count):
        return [int(one[-3:]) for _, one in choose(found, count)]

    assert chosen(5) == [0, 8, 16, 24, 32]
    assert {*chosen(20)} >= split
    assert len(chosen(20)) == len({*chosen(20)}) == 20
    assert sorted(chosen(99)) == list(range(40))
    assert chosen(0) == []


def test_texts_stand_once_and_come_back_whole():
    texts = Texts()
    first = texts.runs("a\nb\nc")
    again = texts.runs("x\nb\nc\n\nb")
    assert first == [0, 3]
    assert texts.items == ["a", "b", "c", "x", ""]
    read = [texts.items[p + n] for p, count in zip(again[::2], again[1::2], strict=True)
            for n in range(count)]  # fmt: skip
    assert "\n".join(read) == "x\nb\nc\n\nb"


def test_what_stands_in_for_the_papers_models_is_said():
    def notes(**more):
        return {n.part: n.short for n in stand_ins(only([row(**more)]).setting)}

    assert notes() == {
        "reader": "extractive reader, no model, instead of GPT-4o-mini",
        "embedder": "all-MiniLM-L6-v2 instead of BGE-large",
    }
    assert notes(backend="gpt-4o-mini@u", embedder="bge-large-en-v1.5@x") == {}
    assert notes(backend="gemini-2.5-flash@u", embedder="bge-large-en-v1.5@x") == {}
    assert "qwen3 instead" in notes(backend="qwen3@u")["reader"]


def test_the_finding_names_the_best_other_memory_and_whether_the_gap_is_clear():
    rows = [row(n, "tsim_official", hit=True) for n in range(40)]
    rows += [row(n, "standard_rag", hit=n < 10) for n in range(40)]
    rows += [row(n, "hybrid_rrf", hit=n < 20) for n in range(40)]
    rows += [row(n, "oracle") for n in range(40)]
    found = only(rows)
    said = finding(found, main_table(found), paired_table(found))
    assert "hybrid_rrf, does so for 50.0\u00a0%" in said
    assert "+50.0 points" in said
    assert "no clear difference" not in said
    assert uneven(found) == ""
    assert "hybrid_rrf 19" in uneven(only(rows[:99] + rows[120:]))


def test_the_papers_figures_are_those_it_printed(shared):
    (source,) = (shared / "paper").glob("*.txt")
    text = source.read_text("utf-8")
    names = {
        r"\tsim": "tsim_official", "Standard RAG": "standard_rag", r"\hybridrag": "hybrid_rrf",
        "RAPTOR": "raptor", "MemGPT": "memgpt", "HippoRAG": "hipporag",
        r"\tunedrag": "tuned_hybrid",
    }  # fmt: skip

    def printed(label):
        body = text[: text.index(rf"\label{{{label}}}")].rpartition(r"\begin{tabular")[2]
        found, block = {}, ""
        for line in body.splitlines():
            cells = [cell.strip(" \\") for cell in line.split("&")]
            if len(cells) == 7 and re.search(r"\d", cells[2]):
                block = cells[0] or block
                (system,) = {own for name, own in names.items() if name in "\\" + cells[1]}
                numbers = [float(re.sub(r"[^\d.]", "", cell)) for cell in cells[2:]]
                found[block, system] = numbers
        return found

    def percent(share):
        return round(100 * share, 1)

    def ours(table_, numbers):
        return {(b, s): numbers(line) for b, block in table_.items() for s, line in block.items()}

    assert printed("tab:cross-backend-metrics") == ours(
        paper.MAIN.lines,
        lambda p: [percent(p.accuracy), percent(p.hit), p.rationale, p.tokens, p.seconds],
    )
    accuracies = ours(paper.MAIN.lines, lambda p: percent(p.accuracy))
    audit = printed("tab:backend-output-audit")
    assert {key: line[1:] for key, line in audit.items()} == ours(
        paper.AUDIT.lines, lambda line: [percent(value) for value in line]
    )
    assert all(line[0] == accuracies[key] for key, line in audit.items())
    for target, line in paper.FULL_CONTEXT.lines.items():
        want = rf"{target // 1000}k & {100 * line.hit:.2f} & {percent(line.accuracy)} & "
        want_after = f"{line.seconds:.2f} & {line.tokens:,}"
        assert any(want in one and want_after in one for one in text.splitlines())


def test_the_papers_figures_stand_only_where_it_printed_them():
    assert (
        paper.scores("tsim_official", "extractive/1", 128_000)
        == paper.MAIN.lines["GPT-4o-mini"]["tsim_official"]
    )
    assert (
        paper.scores("tsim_official", "gemma2:9b@u", 128_000)
        == paper.MAIN.lines["Gemma2:9b"]["tsim_official"]
    )
    assert paper.scores("tsim_official", "extractive/1", 16_000) is None
    assert paper.scores("tsim_official:k=3", "extractive/1", 128_000) is None
    assert paper.scores("full_context", "extractive/1", 32_000).accuracy == 0.578


def test_nothing_in_data_can_end_or_open_an_element():
    text = script_json({"q": NASTY})
    assert json.loads(text) == {"q": NASTY}
    assert not {"<", ">", "&", "\u2028"} & {*text}
    below = Column(key="b", head=NASTY, form=str)
    column = Column(key="a", head=NASTY, signs=NASTY, form=str, below=(below,))
    table = Table(title=NASTY, columns=(column,), rows=({"a": NASTY, "b": NASTY},))
    page = to_html(Page(title=NASTY, sections=(Section(name="x", title=NASTY, blocks=(table,)),)))
    assert page.count("&lt;script") == 9
    assert "<script" not in page
    assert "<img" not in page


@pytest.fixture
def nasty(tmp_path) -> Path:
    rows = [
        row(n, system, hit=n % 3 != place, answer="ABC"[(n + place) % 3], exchanges=n % 2,
            question=f"{NASTY} number {n}", options=dict.fromkeys("ABCD", NASTY),
            context=f"user: first\n{NASTY}", rationale=NASTY, domain=("Legal", NASTY)[n % 2],
            target=target)
        for target in (16_000, 128_000)
        for place, system in enumerate(("tsim_official", "standard_rag", "x<b>y"))
        for n in range(20)
    ]  # fmt: skip
    return write(rows, tmp_path / "rows")


def test_the_page_is_one_file_with_everything_escaped(nasty, tmp_path):
    out = tmp_path / "deep" / "report.html"
    write_report(nasty, out)
    text = out.read_text("utf-8")
    assert len(re.findall(r"<script", text)) == 2
    assert len(re.findall(r"</script", text)) == 2
    assert "<img" not in text
    assert "<b>y" not in text
    assert not re.search(r"""(?:src|href)=["'](?!#)""", text)
    assert "url(" not in text
    assert "@import" not in text
    payload = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert len(payload["questions"]) == 40
    assert any(NASTY in one for one in payload["texts"])
    assert [p.name for p in out.parent.iterdir()] == ["report.html"]


def test_the_same_rows_give_the_same_bytes_in_any_process(nasty, tmp_path):
    code = "import sys; from pathlib import Path; from scaleqa.report import write_report\n" \
           "write_report(Path(sys.argv[1]), Path(sys.argv[2]), details=7)"  # fmt: skip
    for name, seed in (("a", "1"), ("b", "2")):
        subprocess.run(
            [sys.executable, "-c", code, str(nasty), str(tmp_path / name)],
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_whole_contexts_are_kept_for_as_many_questions_as_asked(nasty, tmp_path):
    for count in (0, 7, 40):
        write_report(nasty, tmp_path / "r.html", details=count)
        text = (tmp_path / "r.html").read_text("utf-8")
        payload = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
        assert sum("full" in question for question in payload["questions"]) == count
        assert (f"40 questions are here; {count} of them" in text) == (0 < count < 40)
        assert ("questions are here in brief" in text) == (count == 0)


def both_backends(place: Path, *backends: str) -> Path:
    for number, backend in enumerate(backends):
        rows = [
            row(n, system, hit=n % 3 != 0, answer="AB"[n % 2], backend=backend, target=target)
            for target in (16_000, 128_000)
            for system in ("tsim_official", "standard_rag")
            for n in range(30)
        ]
        write(rows, place / f"{number}")
    return place


ABOUT_ANSWERS = re.compile(
    "accura|correctness|unanswered|rationale sim|Hit-C|answered correctly|which is wrong|domain std"
    "|batch r"
)


def visible(page: Path) -> str:
    """A page without its script, and without what each row says of itself."""
    text = page.read_text("utf-8")
    return re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.S)


def test_a_report_says_nothing_about_the_answers_of_a_reader_that_is_no_model(tmp_path):
    silent = both_backends(tmp_path / "silent", "extractive/1")
    said = write_report(silent, tmp_path / "r.html")
    text = visible(tmp_path / "r.html")
    assert ABOUT_ANSWERS.findall(text) == []
    assert "No language model answered: a reader that matches words" in text
    assert "retrieves all evidence for" in said
    for kept in ("CL hit", "Contexts", "Earlier exchanges", "By length", "Tokens, times, cost"):
        assert kept in text
    told = json.dumps(figures_json(silent))
    assert not re.search('accuracy|unanswered|rationale|audit|domain_std|"correct"', told)
    assert '"hit_interval"' in told


def test_a_report_says_what_a_model_answered(tmp_path):
    asked = both_backends(tmp_path / "asked", "gpt-4o-mini@u")
    write_report(asked, tmp_path / "r.html")
    text = visible(tmp_path / "r.html")
    for name in ("Strict accuracy by system", "Accuracy by domain", "Hit-C", "domain std, points"):
        assert name in text
    assert "accuracy, 16k" in text
    assert "No language model answered" not in text
    (main, _) = figures_json(asked)["settings"][0]["main"]
    assert main["scores"]["answers"]["accuracy"] == 0.5


def test_each_setting_of_a_report_says_what_it_can(tmp_path):
    mixed = both_backends(tmp_path / "mixed", "extractive/1", "gpt-4o-mini@u")
    write_report(mixed, tmp_path / "r.html")
    text = visible(tmp_path / "r.html")
    audit = re.search(r'<section id="audit".*?</section>', text, re.S)[0]
    parts = audit.split('<div class="setting"')[1:]
    assert ["Hit-C" in part for part in parts] == [
        "extractive" not in part.partition("</h3>")[0] for part in parts
    ]
    assert audit.count("nothing to show here") == 2


def test_a_report_says_where_its_figures_come_from(tmp_path):
    rows = []
    for n in range(4):
        one = row(n)
        run = one.run.model_copy(update={"scaleqa": "0.9", "package_sha256": "ab" * 32})
        timing = one.timing.model_copy(update={"date": f"2026-01-0{n + 1}"})
        rows.append(one.model_copy(update={"run": run, "timing": timing}))
    write_report(write(rows, tmp_path / "rows"), tmp_path / "r.html")
    text = visible(tmp_path / "r.html")
    assert "<dd>scaleqa 0.9</dd>" in text
    assert "batch-01 (sha256 abababababababab…)" in text
    assert "2026-01-01 to 2026-01-04" in text
    old = write([row(0)], tmp_path / "old")
    write_report(old, tmp_path / "r.html")
    text = visible(tmp_path / "r.html")
    assert "<dt>Measured with</dt><dd>the rows do not say</dd>" in text
    assert f"scaleqa {__version__}" in text
    assert "Dates" not in text


def test_a_directory_without_rows_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(DataError, match="holds no rows; make some with: scaleqa run"):
        write_report(tmp_path, tmp_path / "r.html")
    (tmp_path / "stream.jsonl").write_text('{"id": 0, "role": "user", "text": "hi"}\n')
    with pytest.raises(DataError, match=r"no row of scaleqa run .*name the directory"):
        write_report(tmp_path, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_rows_of_retrieval_make_a_page_without_a_reader(tiny_embedder, tmp_path):
    packages = build(RECORDS[:24], NOISE, settings_of(2500))
    for system in ("standard_rag", "oracle"):
        run_packages(packages, RunSettings(system=system), tiny_embedder, tmp_path / "rows")
    said = write_report(tmp_path / "rows", tmp_path / "r.html")
    assert "retrieves all evidence for" in said
    text = visible(tmp_path / "r.html")
    assert ABOUT_ANSWERS.findall(text) == []
    assert "none: retrieval alone" in text
    assert "CL hit" not in text
    assert "Earlier exchanges" not in text
    for kept in ("In context by system", "Co-containment", "texts embedded per turn", "recall@5"):
        assert kept in text


def test_the_command_writes_the_page_or_prints_the_figures(nasty, tmp_path):
    command = [str(Path(sys.executable).with_name("scaleqa")), "report", str(nasty)]

    def run(*more):
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout

    assert f"wrote {tmp_path / 'r.html'}" in run("--out", str(tmp_path / "r.html"))
    figures = json.loads(run("--json"))
    assert figures == json.loads(json.dumps(figures_json(nasty)))
    assert [one["setting"]["target"] for one in figures["settings"]] == [128_000, 16_000]
    assert figures["settings"][0]["main"][0]["system"] == "tsim_official"
    assert not (tmp_path / "report.html").exists()


def test_rows_of_older_runs_make_a_page_too(tmp_path):
    new = {"target", "stream_turns", "embedder", "question", "options", "reasoning",
           "evidence_texts", "rationale_similarity", "llm_calls"}  # fmt: skip
    (tmp_path / "rows").mkdir()
    for system in ("tsim", "oracle"):
        rows = [former_row(n, system) for n in range(3)]
        kept = [{k: v for k, v in one.items() if k not in new} for one in rows]
        lines = "".join(json.dumps(one) + "\n" for one in kept)
        (tmp_path / "rows" / f"{system}.jsonl").write_text(lines)
    write_report(tmp_path / "rows", tmp_path / "r.html")
    assert "unknown length" in (tmp_path / "r.html").read_text("utf-8")


def test_lines_inside_texts_do_not_break_rows(tmp_path):
    write([row(0, rationale="one\u2028two\x85three")], tmp_path)
    (file,) = tmp_path.rglob("*.jsonl")
    with file.open("ab") as torn:
        torn.write('{"id": "é'.encode()[:-1])
    assert [one.detail.rationale for one in all_rows(tmp_path)] == ["one\u2028two\x85three"]


@pytest.fixture(scope="module")
def real(tiny_embedder, tmp_path_factory):
    """Rows that the loop wrote."""
    out = tmp_path_factory.mktemp("real")
    packages = build(RECORDS[:24], NOISE, settings_of(2500))
    for system in ("tsim_official", "standard_rag", "zero_shot"):
        run_packages(packages, loop(open_backend("extractive"), system), tiny_embedder, out)
    return packages, out


def test_the_loop_writes_what_the_report_needs(real, tiny_embedder):
    packages, out = real
    queries = {query.id: (package, query) for package in packages for query in package.questions}
    for one in all_rows(out):
        package, query = queries[one.id]
        assert one.question == query.question
        assert one.run.target == 2500
        assert one.run.stream_turns == len(package.stream)
        assert one.run.package_sha256 == package.sha256
        assert one.run.embedder == tiny_embedder.identity
        assert one.evidence_texts == tuple(package.stream[turn].text for turn in query.evidence)
        said, gold = tiny_embedder.embed([one.detail.rationale, query.reasoning])
        assert one.answered.rationale_similarity == pytest.approx(float(said @ gold), abs=1e-5)
        assert one.llm_calls == 0
    assert {unit.why for one in all_rows(out) for unit in one.detail.units} > {""}


def test_a_missing_rationale_has_similarity_zero(tiny_embedder, tmp_path):
    class Silent:
        identity, stand_in = "silent", False

        def reply(self, request):
            return Reply(text="ANSWER: A")

        def close(self):
            pass

    (package, *_) = build(RECORDS[:4], NOISE, settings_of(2500))
    rows = run_packages([package], loop(Silent(), "zero_shot"), tiny_embedder, tmp_path)
    assert {one.answered.rationale_similarity for one in rows} == {0.0}


TALKATIVE = """
from scaleqa.systems import FlatSystem

class Talkative(FlatSystem):
    '''Asks its model once for each chunk or exchange it takes in, and twice for a request.'''

    def __init__(self, tools):
        super().__init__()
        self.model = tools.model

    def index(self, turns):
        self.model.chat([])

    def retrieve(self, asked):
        self.model.chat([])
        self.model.chat([])
        return self.show([])

def make(options, tools):
    return Talkative(tools)
"""


class Chat:
    identity = "chat"

    def chat(self, messages, functions=(), *, most_tokens=300):
        return Reply(text="")

    def close(self):
        pass


def test_a_systems_own_calls_are_counted_the_same_after_a_stop(tiny_embedder, tmp_path):
    (tmp_path / "talkative.py").write_text(TALKATIVE)
    packages = build(RECORDS[:4], NOISE, settings_of(2500))
    backend = open_backend("extractive")
    settings = loop(backend, f"{tmp_path / 'talkative.py'}:make", model=Chat())

    def calls():
        rows = run_packages(packages, settings, tiny_embedder, tmp_path / "rows")
        return [one.llm_calls for one in rows]

    whole = calls()
    assert whole == [3, 3, 3, 3]
    (file,) = (tmp_path / "rows").rglob("*.jsonl")
    file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:2]))
    assert calls() == whole


def test_rows_of_another_length_are_refused(tiny_embedder, tmp_path):
    settings = loop(open_backend("extractive"), "zero_shot")
    short = build(RECORDS[:4], NOISE, settings_of(2500))
    long = build(RECORDS[:4], NOISE, settings_of(3000))
    run_packages(short, settings, tiny_embedder, tmp_path)
    with pytest.raises(DataError, match="another run"):
        run_packages(long, settings, tiny_embedder, tmp_path)


@pytest.fixture
def browse(tmp_path):
    """Loads a page in a browser and returns the document its script made."""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("chromium is not installed")

    def load(url: str) -> str:
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
            "--disable-background-networking --disable-component-update --disable-sync"
        ).split()
        command = [chromium, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", url]
        ran = subprocess.run(command, capture_output=True, check=True, timeout=120)
        return ran.stdout.decode()

    return load


def test_a_browser_lists_questions_and_opens_the_one_in_the_address(browse, real, tmp_path):
    _, out = real
    write_report(out, tmp_path / "r.html")
    wanted = all_rows(out)[2]
    dom = browse(f"{(tmp_path / 'r.html').as_uri()}#q={wanted.id}")
    assert "data-error" not in dom
    assert re.search(r'<html[^>]* data-ready="\d+"', dom)
    (panel,) = re.findall(r'<div class="panel">.*?</div></li>', dom, re.S)
    assert "What each system did" in panel
    assert "Along the thread" in panel
    assert panel.count('<article class="answer">') == 3
    assert 'class="turn evidence"' in panel


def test_a_browser_shows_hostile_texts_as_texts(browse, nasty, tmp_path):
    write_report(nasty, tmp_path / "r.html")
    dom = browse(f"{(tmp_path / 'r.html').as_uri()}#q=batch-01-004&s=1")
    assert "data-error" not in dom
    assert "<title>SCALE-QA report</title>" in dom
    assert "<img" not in dom.replace("&lt;img", "")
    assert 'data-setting="0" hidden' in dom
    assert dom.count('class="panel"') == 1
