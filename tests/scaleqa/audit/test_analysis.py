"""What is found in ratings: the paper's figures, against plain counting, also of little data."""

import json
import re
from collections import Counter
from dataclasses import replace
from statistics import mean, median, stdev

import pytest

from scaleqa.audit import paper
from scaleqa.audit.analysis.findings import find
from scaleqa.audit.analysis.page import audit_page
from scaleqa.audit.analysis.quality import quality
from scaleqa.audit.export import exported, write_export
from scaleqa.audit.items import CUES, SCALES
from scaleqa.audit.judgements import Judgement, Sheet, Values
from scaleqa.errors import DataError
from scaleqa.pages.html import to_html
from scaleqa.pages.json import to_json
from scaleqa.pages.latex import escaped, to_latex
from scaleqa.pages.markdown import to_markdown
from scaleqa.pages.terminal import to_text
from scaleqa.stats import kappa
from tests.support.audits import SMALL, careful, simulated, small_plan

PLAN = small_plan(replace(SMALL, items=60))
SAID = simulated(PLAN, wrong=0.4)


@pytest.fixture(scope="module")
def found():
    return find(PLAN, SAID)


def own(judgements):
    """Judgements by item, of our items with options."""
    by_item: dict[str, list[Judgement]] = {}
    for one in judgements:
        item = one.item
        if item.purpose == "audit" and item.form == "choice" and item.origin.source == "scaleqa":
            by_item.setdefault(item.id, []).append(one)
    return by_item


def test_scales_are_means_over_items(found):
    for one in found.overall:
        means = [
            mean(judgement.values.scales[one.scale] for judgement in some)
            for some in own(SAID).values()
        ]
        assert one.items == 60
        assert one.mean == pytest.approx(mean(means))
        assert one.median == pytest.approx(median(means))
        assert one.std == pytest.approx(stdev(means))
        assert one.interval.low <= one.mean <= one.interval.high


def test_majorities_are_more_than_half_and_the_others_are_named(found):
    right, none, wrong = 0, [], []
    for name, some in own(SAID).items():
        letter, votes = Counter(one.values.answer for one in some).most_common(1)[0]
        if votes < 2:
            none.append(name)
        elif letter == PLAN.by_id[name].answer:
            right += 1
        else:
            wrong.append(name)
    ours = found.majority
    assert none and wrong  # the simulated raters are careless enough
    assert (ours.items, ours.valid, ours.right) == (60, 60 - len(none), right)
    assert [case.item.id for case in ours.none] == sorted(none)
    assert [case.item.id for case in ours.wrong] == sorted(wrong)
    text = to_markdown(audit_page(found), "x")
    for case in (*ours.none, *ours.wrong):
        assert case.item.origin.ref in text


def test_a_tie_is_no_majority():
    items = [item for item in PLAN.items if item.form == "choice" and item.purpose == "audit"][:1]
    said = [
        Judgement(rater=n, item=items[0], values=careful(items[0]).model_copy(update={"answer": a}))
        for n, a in enumerate("AABB", 1)
    ]
    plan = small_plan(replace(SMALL, items=60, raters=4, per_item=4))
    assert find(plan, said).majority.none[0].majority is None


def test_one_rating_is_no_majority():
    by_item = own(SAID)
    first, second, third = sorted(by_item)[:3]
    wrong = {"answer": "AB"[PLAN.by_id[first].answer == "A"], "primary": CUES[0]}
    wrong["cues"] = (CUES[0],)
    alone = replace(by_item[first][0], values=by_item[first][0].values.model_copy(update=wrong))
    some = [alone, by_item[second][0]]
    unfinished = find(PLAN, some)
    ours = unfinished.majority
    assert (ours.items, ours.single, ours.valid, ours.right) == (2, 2, 0, 0)
    assert ours.none == ours.wrong == []
    seen = unfinished.cues
    assert (seen.items, seen.single, seen.labelled) == (0, 2, 0)
    assert not any((*seen.cues.values(), *seen.anybody.values(), *seen.primary.values()))
    more = find(PLAN, [*some, *(replace(one, values=careful(one.item)) for one in by_item[third])])
    assert (more.majority.items, more.majority.single, more.majority.right) == (3, 2, 1)
    assert (more.cues.items, more.cues.single, more.cues.labelled) == (1, 2, 1)
    page = audit_page(more)
    table = next(one for one in page.tables if one.title.startswith("Majority answers"))
    assert (table.rows[0]["share"], table.rows[0]["single"]) == (1.0, 2)
    text = to_markdown(page, "x")
    assert "one rating only" in text and "Majority for another" not in text
    assert "Items with one rating only, which are not counted here: 2." in text


def test_pairs_agree_as_counted(found):
    by_item = own(SAID)
    for pair in found.pairs:
        first, second = pair.raters
        chosen = [
            tuple(next(o.values.answer for o in some if o.rater == r) for r in pair.raters)
            for some in by_item.values()
        ]
        assert pair.items == 60
        assert pair.answers.value == pytest.approx(mean(a == b for a, b in chosen))
        assert pair.kappa.value == pytest.approx(kappa(*zip(*chosen, strict=True)))
        both = [
            (some[0].item.answer, a)
            for some, (a, b) in zip(by_item.values(), chosen, strict=True)
            if a == b
        ]
        assert pair.agreed == (sum(a == b for a, b in both), len(both))
        assert first < second
    assert [pair.raters for pair in found.pairs] == [(1, 2), (1, 3), (2, 3)]


def test_raters_by_themselves(found):
    for one in found.raters:
        mine = [o for some in own(SAID).values() for o in some if o.rater == one.rater]
        letters = Counter(o.values.answer for o in mine)
        assert one.right == sum(o.values.answer == o.item.answer for o in mine)
        assert one.largest == pytest.approx(max(letters.values()) / 60)
        for scale in SCALES:
            assert one.means[scale] == pytest.approx(mean(o.values.scales[scale] for o in mine))


def test_cues_are_those_that_most_raters_see(found):
    # All simulated raters see what the data set says.
    labels = [PLAN.by_id[name].origin.stress for name in own(SAID)]
    assert found.cues.cues == {cue: sum(cue in one for one in labels) for cue in CUES}
    assert found.cues.several == sum(len(one) > 1 for one in labels)
    assert found.cues.labelled == found.cues.as_labelled == found.cues.items == 60
    assert found.cues.primary["needs_adjudication"] == 0
    differing = [
        replace(one, values=one.values.model_copy(update={"primary": CUES[one.rater - 1]}))
        if one.values.primary
        else one
        for one in SAID
    ]
    assert find(PLAN, differing).cues.primary["needs_adjudication"] == 60


def test_other_sources_are_compared_in_the_same_form(found):
    assert [(one.form, one.source) for one in found.beside] == [
        ("chat", "corpus"),
        ("open", "others"),
    ]
    one = found.beside[0]
    assert one.items == (4, 4)
    assert one.difference.value == pytest.approx(one.ours - one.theirs)


def test_gold_and_attention_items_count_for_raters_alone(found):
    assert {item.purpose for item in found.sheet.items} == {"audit"}
    assert all(one.gold == (2, 2) and one.attention == (2, 2) for one in found.quality)
    assert all(one.remarks == () for one in found.quality)


def test_careless_raters_are_remarked_upon():
    lazy = [
        replace(
            one,
            values=Values(
                scales={"naturalness": 3, "answerability": 3, "ambiguity": 3, "plausibility": 3},
                answer="A",
                primary="none",
            ).only(one.item.shown),
            seconds=2.0,
        )
        if one.rater == 2
        else one
        for one in SAID
    ]
    sheet = Sheet.of(lazy)
    seen = quality(sheet, PLAN, 2)
    assert seen.run >= 20 and seen.same == 1 and seen.hurried > 50
    words = " ".join(seen.remarks)
    for expected in ("attention items were not followed", "faster than", "in a row", "100% of"):
        assert expected in words
    assert quality(sheet, PLAN, 1).remarks == ()
    without = find(PLAN, lazy, without=[2])
    assert without.left_out == (2,) and 2 not in without.sheet.raters
    assert any(one.rater == 2 for one in without.quality)
    assert "Left out on request: rater 2" in to_markdown(audit_page(without), "x")
    with pytest.raises(DataError, match="raters 1 to 3"):
        find(PLAN, lazy, without=[9])


def test_every_figure_of_the_paper_is_beside_ours(found):
    text = to_markdown(audit_page(found, items=True), "x")
    for printed in (paper.OVERALL, paper.ANNOTATORS, paper.PAIRS, paper.CUES, paper.TOPICS):
        assert printed.source in text
    for expected in ("| 3.80 | 3.67 | 0.25 |", "272/274", "0.947", "0.895", "65.3", "17.7",
                     "| 296 |", "| 299 |", "4.13", "1.86", "Ann. 2"):  # fmt: skip
        assert expected in text.replace("\u00a0%", ""), expected
    assert len(paper.TOPICS.lines) == 10 and sum(paper.PRIMARY.lines.values()) == 300
    agreed = [one.kappa for one in paper.PAIRS.lines.values()]
    assert mean(agreed) == pytest.approx(paper.KAPPA.lines["answer"], abs=6e-4)
    natural = [one.means[0] for one in paper.ANNOTATORS.lines.values()]
    assert mean(natural) == pytest.approx(paper.OVERALL.lines["naturalness"].mean, abs=6e-3)


def test_the_report_is_written_in_every_form(found):
    page = audit_page(found, items=True)
    body = json.loads(json.dumps(to_json(page)))
    assert {table["title"] for table in body["tables"]} == {table.title for table in page.tables}
    every = next(table for table in body["tables"] if table["title"] == "Every item")
    assert len(every["rows"]) == len(found.sheet.items)
    html = to_html(page)
    assert "<script src=" not in html and "http://" not in re.sub(r'xmlns="[^"]*"', "", html)
    assert all(to_text(table) for table in page.tables)
    tex = to_latex(page)
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == len(page.tables)
    body = tex.replace(r"\&", "").replace(r"\_", "").replace(r"\%", "").replace(r"\#", "")
    for table in re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end", body, re.S):
        rows = [line for line in table[1].splitlines() if line.endswith("\\\\")]
        assert {line.count("&") for line in rows} == {len(table[0]) - 1}
    assert "%" not in body and "_" not in body


def test_latex_shows_text_as_it_is():
    assert escaped("50 % of A_b & {c} \\d") == r"50 \% of A\_b \& \{c\} \textbackslash{}d"


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_a_report_of_few_ratings_says_what_there_is(count):
    some = [one for one in SAID if one.item.purpose == "audit"][:count]
    page = audit_page(find(PLAN, some), items=True)
    text = to_markdown(page, "x")
    assert "not finished" in text and "nan" not in text.lower().replace("finance", "")
    assert to_latex(page) and json.dumps(to_json(page), allow_nan=False)


def test_a_report_of_nothing_says_what_to_do():
    for said in ([], [one for one in SAID if one.item.purpose != "audit"]):
        with pytest.raises(DataError, match="scaleqa audit invite"):
            find(PLAN, said)


def test_the_same_ratings_give_the_same_page(found):
    again = find(PLAN, [*reversed(SAID)])
    assert to_markdown(audit_page(again), "x") == to_markdown(audit_page(found), "x")


def test_an_export_has_no_identities_times_or_comments(tmp_path):
    commented = [
        replace(one, values=one.values.model_copy(update={"comment": f"I am Ana {one.rater}"}))
        for one in SAID
    ]
    lines = exported(commented)
    assert len(lines) == len(SAID)
    names = {line["rater"] for line in lines}
    assert len(names) == 3 and all(re.fullmatch("[0-9a-f]{8}", name) for name in names)
    assert names.isdisjoint({line["rater"] for line in exported(commented)})  # drawn anew
    keys = {key for line in lines for key in line}
    assert keys.isdisjoint({"comment", "at", "id", "form", "base"})
    text = json.dumps(lines)
    assert "Ana" not in text and "rater-" not in text
    order = [(line["source"], line["item"], line["rater"]) for line in lines]
    assert order == sorted(order)
    assert {line["comment"] for line in exported(commented, comments=True)} == {
        f"I am Ana {n}" for n in (1, 2, 3)
    }
    write_export(lines, tmp_path / "ratings.jsonl")
    kept = (tmp_path / "ratings.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == lines
    assert (tmp_path / "ratings.jsonl").stat().st_mode & 0o077 == 0
    with pytest.raises(DataError, match="exists"):
        write_export(lines, tmp_path / "ratings.jsonl")
    with pytest.raises(DataError, match="nothing to export"):
        exported([])
