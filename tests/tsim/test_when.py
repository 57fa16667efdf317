"""Questions with time in them: what they mean, and which turns they prefer."""

import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import stream
from tsim import Memory
from tsim.errors import InputError
from tsim.rank.when import Kind, preference, stretches

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)  # a Wednesday
FIRST, LAST = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 5, 14, tzinfo=UTC)


def parsed(text, now=NOW):
    return stretches(text, now=now, first=FIRST.timestamp(), last=LAST.timestamp())


def day(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


INSIDE = {
    "what did I say yesterday": ("2024-05-14", "2024-05-15"),
    "What did we decide the day before yesterday?": ("2024-05-13", "2024-05-14"),
    "the recipe from last night": ("2024-05-14", "2024-05-15"),
    "what did I say last week": ("2024-05-06", "2024-05-13"),
    "this week's plan": ("2024-05-13", "2024-05-20"),
    "where was I last weekend?": ("2024-05-11", "2024-05-13"),
    "Which pair of shoes did I clean last month?": ("2024-04-01", "2024-05-01"),
    "my plans this month": ("2024-05-01", "2024-06-01"),
    "trips of last year": ("2023-01-01", "2024-01-01"),
    "What did we cook last summer?": ("2023-06-01", "2023-09-01"),
    "and last winter": ("2023-12-01", "2024-03-01"),
    "What did I buy in March?": ("2024-03-01", "2024-04-01"),
    "What did I buy in June?": ("2023-06-01", "2023-07-01"),
    "my mood in May": ("2024-05-01", "2024-06-01"),
    "my mood last May": ("2023-05-01", "2023-06-01"),
    "the flat in November 2021": ("2021-11-01", "2021-12-01"),
    "expenses of 2022": ("2022-01-01", "2023-01-01"),
    "What happened on 3 May 2024?": ("2024-05-03", "2024-05-04"),
    "What happened on May 3rd, 2023?": ("2023-05-03", "2023-05-04"),
    "What happened on the 3rd of May?": ("2024-05-03", "2024-05-04"),
    "What happened on Dec. 24?": ("2023-12-24", "2023-12-25"),
    "notes of 2024-02-29": ("2024-02-29", "2024-03-01"),
    "Who came on Monday?": ("2024-05-13", "2024-05-14"),
    "Who came last Wednesday?": ("2024-05-08", "2024-05-09"),
    "Who comes this Friday?": ("2024-05-17", "2024-05-18"),
    "What did I do 10 days ago?": ("2024-05-05", "2024-05-06"),
    "What did I get on Valentine's Day?": ("2024-02-14", "2024-02-15"),
    "between March and April 2024, what broke?": ("2024-03-01", "2024-05-01"),
    "what broke from June to August": ("2023-06-01", "2023-09-01"),
    "what broke in February and March": ("2024-02-01", "2024-04-01"),
    "what did we say the week before last?": ("2024-04-29", "2024-05-06"),
    "rent in the month before last": ("2024-03-01", "2024-04-01"),
    "the summer of 2022": ("2022-06-01", "2022-09-01"),
    "in winter 2022": ("2022-12-01", "2023-03-01"),
    "what did I order on the 12th?": ("2024-05-12", "2024-05-13"),
    "what did I order on the 31st?": ("2024-03-31", "2024-04-01"),
    "what happened on Feb 29": ("2024-02-29", "2024-03-01"),
}


@pytest.mark.parametrize(("text", "period"), INSIDE.items())
def test_a_period_is_found(text, period):
    (found,) = parsed(text)
    begin, end = period
    assert (found.kind, found.begin, found.end) == (Kind.INSIDE, day(begin), day(end))


@pytest.mark.parametrize(
    ("text", "days", "around"),
    [
        ("a sports event two weeks ago", 14, 3.5),
        ("What charity event did I go to a month ago?", 30.44, 15.22),
        ("my job 3 years ago", 3 * 365.25, 182.625),
        ("half a year ago I moved", 182.625, 182.625),
        ("an hour ago", 1 / 24, 0.5 / 24),
        ("a fortnight ago", 14, 7),
        ("a few days ago", 3, 1.5),
        ("a couple of months back", 60.88, 30.44),
    ],
)
def test_so_long_ago_is_around_that_time(text, days, around):
    (found,) = parsed(text)
    ago = [(NOW.timestamp() - edge) / 86400 for edge in (found.begin, found.end)]
    assert ago == pytest.approx([days + around, days - around])


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("films I watched in the last 3 months", 91.32),
        ("the past week", 7),
        ("over the past few days", 4.5),
        ("in the past year", 365.25),
        ("what did I say in the last hour?", 1 / 24),
    ],
)
def test_the_last_units_end_now(text, days):
    (found,) = parsed(text)
    assert (found.kind, found.end) == (Kind.INSIDE, NOW.timestamp())
    assert (found.end - found.begin) / 86400 == pytest.approx(days)


@pytest.mark.parametrize(
    ("text", "kind", "begin", "end"),
    [
        ("before March", Kind.BEFORE, -math.inf, day("2024-03-01")),
        ("everything until 3 May 2024", Kind.BEFORE, -math.inf, day("2024-05-03")),
        ("since last week", Kind.AFTER, day("2024-05-06"), math.inf),
        ("after Christmas", Kind.AFTER, day("2023-12-24"), math.inf),
        ("What changed since 2023?", Kind.AFTER, day("2023-01-01"), math.inf),
        ("What did I buy most recently?", Kind.RECENT, LAST.timestamp(), LAST.timestamp()),
        ("What is my current address?", Kind.RECENT, LAST.timestamp(), LAST.timestamp()),
        ("the first time I ran", Kind.EARLIEST, FIRST.timestamp(), FIRST.timestamp()),
        ("Where did I originally live?", Kind.EARLIEST, FIRST.timestamp(), FIRST.timestamp()),
    ],
)
def test_other_kinds_are_found(text, kind, begin, end):
    (found,) = parsed(text)
    assert (found.kind, found.begin, found.end) == (kind, begin, end)


@pytest.mark.parametrize(
    "text",
    [
        "May I march on?",
        "How many days ago did I buy a smoker?",
        "What time do I wake up on Tuesdays and Thursdays?",
        "the festival of Holi and the Sunday mass",
        "Which did I do first, the fence or the goats?",
        "What is the order, from earliest to latest?",
        "chapter 12 of 31 February",
        "call 2024-13-45",
        "Is 50% in 3 parts?",
        "the flat on the 3rd floor, in the 21st century",
        "",
    ],
)
def test_what_is_no_time_is_not_taken_for_one(text):
    assert parsed(text) == []


@pytest.mark.parametrize("text", INSIDE)
def test_letters_that_only_look_like_others_do_no_harm(text):
    """Patterns that ignore case take the long s for an s, and the sign of the kelvin for a k."""
    for common, rare in zip("skii", "\u017f\u212a\u0130\u0131", strict=True):
        other = text.replace(common, rare)
        (found,), (usual,) = parsed(other), parsed(text)
        assert (found.begin, found.end) == (usual.begin, usual.end)
        assert found.text in other


@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from(
            "before since in last this two 3 99 999 years weeks days ago May Feb 29 31 2023 0000 "
            "1900 Friday past winter yesterday Christmas from to and between 2024-02-30".split()
        ),
        max_size=8,
    ).map(" ".join),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9))])),
)
def test_any_text_at_any_time_gives_a_preference(text, now):
    found = stretches(text, now=now, first=-1e9, last=1e9)
    times = np.array([-1e10, 0.0, 1e9, math.nan, 1e300])
    got = preference(found, times)
    assert ((got >= 0) & (got <= 1)).all()
    assert got[3] == 0
    assert found == stretches(text, now=now, first=-1e9, last=1e9)


def test_a_preference_fades_gradually():
    found = parsed("what did I say last week")
    times = np.array(
        [day(text) for text in ("2024-05-08", "2024-05-05", "2024-05-01", "2023-05-01")]
    )
    inside, near, far, never = preference(found, times).tolist()
    assert inside == 1
    assert 1 > near > far > never >= 0


def test_days_are_those_of_the_time_zone():
    tokyo = timezone(timedelta(hours=9))
    (found,) = parsed("yesterday", now=datetime(2024, 5, 15, 1, 0, tzinfo=tokyo))
    assert datetime.fromtimestamp(found.begin, tokyo) == datetime(2024, 5, 14, tzinfo=tokyo)


@pytest.fixture
def diary(tmp_path, minilm):
    """The same kind of thing happened every month; two turns of each day."""
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        for month, what in enumerate(
            "a bakery,a museum,a vineyard,a lighthouse,a mine,a brewery".split(","), 1
        ):
            at = datetime(2024, month, 10, 12, tzinfo=UTC)
            thread.add("user", f"I went to see {what} with my cousin today.", at=at)
            thread.add("model", "That sounds like a good day out.", at=at)
        yield thread


def best(thread, query, **more):
    return thread.search(query, budget=18, min_relevance=0, **more)[0].turns[0].text


def test_a_question_prefers_the_time_it_is_about(diary):
    asked = "Where did I go with my cousin"
    assert "lighthouse" in best(diary, f"{asked} in April?")
    assert "museum" in best(diary, f"{asked} in February?")
    assert "mine" in best(diary, f"{asked} last month?")  # relative to the latest turn
    assert "vineyard" in best(diary, f"{asked} last month?", now="2024-04-20")
    assert "bakery" in best(diary, f"{asked} two weeks ago?", now=datetime(2024, 1, 24, tzinfo=UTC))
    everything = diary.search(f"{asked} in April?", budget=1000, min_relevance=0)
    assert len([turn for hit in everything for turn in hit.turns]) == 12, "nothing is left out"
    (found, *_) = diary.search(f"{asked} in April?", budget=40, min_relevance=0)
    assert dict(found.why.terms)["time"] > 0
    with pytest.raises(InputError, match="now='soon' is not a time"):
        diary.search(asked, now="soon")


def test_threads_without_times_are_searched_as_before(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many([(turn.role, turn.text) for turn in stream(60)])
        query = "the budget rule of last week"
        assert thread.search(query) == thread.search(query, now="2024-05-15")
        assert "time" not in {name for hit in thread.search(query) for name, _ in hit.why.terms}


def test_extreme_times_can_be_searched(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        for at in (-62_135_596_800.0, -1.0, 253_402_300_799.0):
            thread.add("user", "the budget rule", at=at)
        for query in ("the rule of last week", "recently", "the first time", "99 years ago"):
            assert thread.search(query, min_relevance=0)


STATES = [
    ("I take the 8:15 train to work.", "I take the 7:40 train to work."),
    ("My favourite colour is green.", "My favourite colour is dark blue now."),
    ("I weigh 82 kilos.", "I weigh 78 kilos."),
    ("Our dog Bruno is on a chicken diet.", "Our dog Bruno is on a fish diet now."),
    ("My sister Ines lives in Porto.", "My sister Ines lives in Ghent."),
    ("My desk is on the third floor.", "My desk is on the fifth floor."),
]
QUESTIONS = [
    "Which train do I take to work?",
    "What is my favourite colour?",
    "How much do I weigh?",
    "What does Bruno eat?",
    "Where does Ines live?",
    "On which floor is my desk?",
]
TALK = ["Can you shorten this paragraph?", "Thanks, that helps.", "What rhymes with orange?"]


def test_what_is_newer_is_not_ranked_below_what_it_replaced(tmp_path, minilm):
    """Whichever of two statements is the newer one, even if the other matches better."""
    for turned in (False, True):
        with Memory.open(tmp_path / f"{turned}.db", model=minilm) as memory:
            thread = memory.thread("a")
            turns = []
            for later in (False, True):
                for n, states in enumerate(STATES):
                    turns.append(("user", states[later != turned]))
                    turns += [(("model", "user")[k % 2], TALK[(n + k) % 3]) for k in range(6)]
            thread.add_many((who, text, 3600.0 * n) for n, (who, text) in enumerate(turns))
            for query, states in zip(QUESTIONS, STATES, strict=True):
                hits = thread.search(query, budget=150, min_relevance=0)
                order = [turn.text for hit in hits for turn in hit.turns if turn.text in states]
                assert order[0] == states[not turned], (query, order)


def test_a_leap_day_is_the_last_one_that_there_was():
    (found,) = parsed("what happened on Feb 29", now=datetime(2027, 5, 15, tzinfo=UTC))
    assert (found.begin, found.end) == (day("2024-02-29"), day("2024-03-01"))
