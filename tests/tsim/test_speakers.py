"""Who talks about themselves."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.index import Speakers
from tsim.index.speakers import CALLED, FIRST_PERSON, MAYBE_CALLED, first_person


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I never learned to swim.", 1),
        ("My sister and I moved, so we sold our car.", 4),
        ("i'm late, I’ve lost me keys", 3),
        ("The ferry leaves at ten.", 0),
        ("Mice in the mine shaft, mystery in Miami, ousted", 1),
        ("", 0),
        ("Ich habe meinen Schlüssel verloren.", 2),
        ("J'ai vendu mon vélo.", 2),
        ("Vivo con mi hermana.", 2),
        ("Я продал мою машину", 2),
        ("我从来没学过游泳", 1),
        ("Tengo asma desde niño.", 1),
        ("Moro em Lisboa com o Rui.", 1),
        ("Он живёт у нас, с нашей собакой", 2),
        ("عندي قطة في البيت", 1),
        ("سأزور زوجتي غدا", 2),
        ("मेरी बहन यहाँ रहती है, मैं नहीं", 2),
        ("शाम को आऊँगा", 1),
        ("जो आदमी हमला करता है", 0),
        ("うちの弟は猫が苦手だ", 2),
        ("お父さんはお元気ですか", 0),
        ("난 우리 집에서 일해", 2),
        ("어제 제주에 비가 왔대", 0),
        ("Bana göre benim hatam", 2),
        ("He met Ben and Mia's son at the AI fair.", 1),
    ],
)
def test_words_in_the_first_person_are_counted(text, count):
    assert first_person(text) == count


def told(turns):
    speakers = Speakers()
    for role, text in turns:
        speakers.append(role, text)
    return speakers


def test_a_speaker_who_talks_about_themselves_tells_more():
    found = told([("user", "I cycle."), ("model", "Good.")] * 20).tells
    assert found[0] == pytest.approx(math.log(21 / 22))
    assert found[1] == pytest.approx(math.log(1 / 22))
    assert found.tolist() == [found[0], found[1]] * 20


def test_speakers_are_told_apart_by_name_and_may_come_late():
    speakers = told([("Ana", "I cycle."), ("Bo", "I swim.")] * 10)
    assert len({*speakers.tells.tolist()}) == 1, "between two who both do, there is no difference"
    speakers.append("Cy", "The train is late.")
    assert speakers.tells[-1] < speakers.tells[0]
    assert len(speakers.tells) == len(speakers.first_person) == 21


def test_in_a_language_without_a_list_nothing_is_known_about_speakers():
    found = told([("user", "Ma ei ole kunagi ujuma õppinud"), ("model", "Olgu")] * 50)
    assert not found.first_person.any()
    np.testing.assert_allclose(found.tells, math.log(0.5), rtol=1e-6)


def test_turns_can_be_added_while_an_earlier_answer_is_in_use():
    speakers = told([("user", "I cycle.")])
    before = speakers.tells, speakers.first_person
    speakers.append("model", "Good.")
    assert [len(one) for one in before] == [1, 1]


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *"i I I'm we’re j' J’ai mein meinem mine tenía tôi моё أنا بيتي البيتي".split(),
                *"我 私 父 は 나 우리 मैं हूँ ผม , ' ’ - _ \u0301 İ é — 、 1 a".split(),
                *" \n\t ",
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)


@given(PIECES)
def test_looking_up_words_counts_what_the_expression_finds(text):
    assert first_person(text) == sum(1 for _ in FIRST_PERSON.finditer(text))


@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["Hi", "thank you", "Dear", "привет", " ", " ", ",", "Nadia", "Élodie"]
            ),
            st.sampled_from(["Иван", "tom", "李雷", "!", ".", "—", "\n", "\u3000", "…", "_", "ǅ"]),
            st.text(max_size=2),
        ),
        max_size=10,
    ).map("".join)
)
def test_no_greeting_is_overlooked(text):
    assert MAYBE_CALLED.search(text) or not CALLED.search(text)
