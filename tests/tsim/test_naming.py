"""Questions that name a speaker are about what this speaker said."""

import pytest

from tsim import Memory
from tsim.index.speakers import Speakers
from tsim.rank import name

NAMES = {"nadia": 0, "tom": 1, "will": 2, "may": 2}


@pytest.mark.parametrize(
    ("question", "text", "speaker"),
    [
        ("Where did Nadia move to?", "Where did I move to?", 0),
        ("Where did Nadia's cousin move to?", "Where did my cousin move to?", 0),
        ("Where did Nadia’s cousin move to?", "Where did my cousin move to?", 0),
        ("where does tom work", "where does I work", 1),
        ("Do Tom and Nadia both ski, is it known?", "Do I and I both ski, is it known?", None),
        ("Wohin ist Nadia gezogen?", "Wohin ist gezogen?", 0),
        ("What did the tom eat?", "What did the tom eat?", None),
        ("Where is Tomsk?", "Where is Tomsk?", None),
        ("Nadia", "Nadia", 0),
        ("Where do I work?", "Where do I work?", None),
        ("When will the train leave?", "When will the train leave?", None),
        ("Will the train leave?", "Will the train leave?", None),
        ("Where does Will live?", "Where does I live?", 2),
        ("Is it open in May?", "Is it open in May?", None),
    ],
)
def test_names_of_speakers_become_the_first_person(question, text, speaker):
    for found, certainty in ((name(question, NAMES, {}), 1.0), (name(question, {}, NAMES), 0.25)):
        assert (found.text, found.speaker) == (text, speaker)
        assert found.certainty == (certainty if speaker is not None else 0)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Which oil did you recommend for the table?", True),
        ("What was the dish you suggested for Sunday?", True),
        ("Which mode did you tell me to use?", True),
        ("How long was I to follow your plan?", True),
        ("Do you remember where my sister lives?", False),
        ("Can you recommend a film?", False),
        ("Where do I work?", False),
    ],
)
def test_questions_to_the_assistant_are_about_its_turns(question, asked):
    found = name(question, {}, {}, model=1)
    assert (found.text, found.speaker) == (question, 1 if asked else None)
    assert name(question, {}, {}).speaker is None


def spoken(*turns):
    speakers = Speakers()
    for role, text in turns:
        speakers.append(role, text)
    return speakers


def test_roles_that_are_names_name_their_speakers():
    talk = spoken(("Nadia Keller", "Hi."), ("tom", "Hi."), ("user", "Hi."), ("tool", "42"))
    assert dict(talk.names()) == {"nadia keller": 0, "nadia": 0, "tom": 1}


def test_a_first_name_that_two_speakers_share_names_neither():
    talk = spoken(("Nadia Keller", "Hi."), ("Nadia Ruiz", "Hi."))
    assert dict(talk.names()) == {"nadia keller": 0, "nadia ruiz": 1}


@pytest.mark.parametrize("roles", [("Q", "A"), ("Me", "You"), ("The", "It")])
def test_words_that_every_question_has_are_no_names(roles):
    assert not spoken(*((role, "Hi.") for role in roles)).names()


def test_an_article_in_a_role_is_no_name():
    assert dict(spoken(("The Boss", "Hi."), ("Tom", "Hi.")).names()) == {"the boss": 0, "tom": 1}


def test_a_single_speaker_has_no_name():
    assert not spoken(("Nadia", "Hi Nadia, dear diary."), ("Nadia", "Hi Nadia, me again.")).names()


def test_greetings_name_the_other_one_of_two_speakers():
    turns = [
        ("user", "Hi Nadia! How was the trip?"),
        ("model", "Hey Tom, it was long. We saw London."),
        ("user", "Thanks, Nadia. And hello London?"),
        ("model", "Morning Tom! Yes."),
    ]
    assert dict(spoken(*turns).called()) == {"nadia": 1, "tom": 0}
    assert not spoken(*turns).names()
    assert not spoken(*turns[:2]).called()  # once may be a coincidence
    third = [("Ana", "Hi Nadia, hi Tom!"), ("Ana", "Hi Nadia, hi Tom!")]
    assert not spoken(*turns, *third).called()  # who of the others is greeted is not known


def test_a_name_that_both_say_is_nobody_s():
    turns = [("user", "Thanks, Siri!"), ("model", "Hey Siri, stop."), ("user", "Hey Siri!")]
    assert not spoken(*turns, ("model", "Sorry, Siri.")).called()


def test_the_assistant_is_known_by_its_role():
    assert spoken(("user", "Hi."), ("assistant", "Hi.")).model == 1
    assert spoken(("Nadia", "Hi."), ("Tom", "Hi.")).model is None
    assert spoken(("assistant", "Hi.")).model is None


def test_a_named_speaker_s_turns_are_found_and_not_those_that_name_her(tmp_path, minilm):
    filler = [
        (who, f"{start}, the {thing} was lovely, thanks for asking.")
        for thing in ("garden", "film", "lake", "soup", "train", "quiz", "choir", "market")
        for who, start in (("Tom", "Hi Nadia"), ("Nadia", "Hi Tom"))
    ]
    told = [
        ("Nadia", "The new flat is in Ghent, above a bakery."),
        ("Tom", "My flat is in Hull, by the docks."),
    ]
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many([*filler, *told, *filler])
        best = thread.search("Which city is Nadia's flat in?", budget=40)[0]
        assert told[0][1] in [turn.text for turn in best.turns]


def test_a_question_that_names_a_speaker_is_embedded_as_the_speaker_would_put_it(
    tmp_path, tiny_embedder, monkeypatch
):
    asked = []
    embed_query = type(tiny_embedder).embed_query

    def noted(self, text):
        asked.append(text)
        return embed_query(self, text)

    monkeypatch.setattr(type(tiny_embedder), "embed_query", noted)
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add("Nadia", "I moved to the harbour")
        thread.add("Tom", "good")
        plain = thread.search("where is the gpu", min_relevance=0)
        thread.search("Where did Nadia move to?", min_relevance=0)
    assert plain
    assert asked.count("where is the gpu") == 1
    assert "Where did I move to?" in asked
