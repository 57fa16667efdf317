"""Words of every script are words of the index."""

import json
import unicodedata
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.index import Postings
from tsim.rank.question import term_weights
from tsim.stopwords import ENGLISH, OTHERS
from tsim.words import count, distinct, english, extent, folded, phrased, terms

# A turn, a question that shares a word with it, and a turn with other words.
SAID = {
    "Chinese": ("昨天我把钥匙忘在理发店了", "理发店在哪里", "今天下午一直下雨"),
    "Chinese, one character": ("我家的猫很安静", "猫", "今天下午一直下雨"),
    "Japanese": ("去年の秋に灯台を買いました", "灯台の値段は", "雨が降っている"),
    "Japanese, katakana": ("妹はトランペットを吹く", "トランペット", "雨が降っている"),
    "Korean, other particles": ("어제 등대를 샀어요", "등대가 얼마였지", "비가 와요"),
    "Thai": ("เมื่อวานฉันลืมกุญแจไว้ที่ร้านตัดผม", "ร้านตัดผมอยู่ที่ไหน", "วันนี้ฝนตก"),
    "Lao": ("ຂ້ອຍລືມກະແຈຢູ່ຕະຫຼາດ", "ຕະຫຼາດ", "ມື້ນີ້ຝົນຕົກ"),
    "Burmese": ("မနေ့ကသော့ကိုဈေးမှာမေ့ခဲ့တယ်", "ဈေးမှာ", "ဒီနေ့မိုးရွာတယ်"),
    "Khmer": ("ខ្ញុំភ្លេចកូនសោនៅផ្សារ", "ផ្សារ", "ថ្ងៃនេះភ្លៀង"),
    "Hindi": ("मैंने चाबी नाई की दुकान पर छोड़ दी", "नाई कौन था", "आज बारिश हुई"),
    "Arabic, vowels and hamza": ("نسيتُ المفتاح عند أحمد", "احمد", "المطر اليوم"),
    "Hebrew, vowels": ("שָׁכַחְתִּי אֶת הַמַּפְתֵּחַ", "המפתח", "גשם היום"),
    "Vietnamese, decomposed": (
        unicodedata.normalize("NFD", "Tôi để quên chìa khóa"), "khóa", "Hôm nay trời mưa",
    ),
    "Russian, ё": ("Самолёт опоздал", "самолет", "Идёт дождь"),
    "German, ß": ("Er wohnt in der Gartenstraße", "GARTENSTRASSE", "Es regnet"),
    "Turkish, dotted capital": ("İzmir'de oturuyorum", "izmir'de", "Yağmur yağıyor"),
    "full width": ("型番はＫＸ２０４です", "KX204", "雨が降っている"),
    "bold letters": ("the 𝗹𝗶𝗴𝗵𝘁𝗵𝗼𝘂𝘀𝗲 keeper", "lighthouse", "it rains"),
    "Latin word in Chinese": ("我用Python写了一个爬虫", "python", "今天下午一直下雨"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "asked", "other"), SAID.values(), ids=SAID)
def test_a_word_is_found_wherever_it_stands(said, asked, other):
    postings = Postings()
    postings.append(other)
    postings.append(said)
    scores = postings.scores(asked)
    assert scores[1] > 0
    assert scores[1] > scores[0]


def test_english_words_are_as_they_were():
    text = "The Rules of Brandauer’s m² switches, café or kx-204b_v2, don't they?"
    assert terms(text) == ["rule", "brandauer", "m²", "switche", "café", "kx-204b_v2", "don't"]


def test_no_question_of_the_benchmark_looks_foreign_or_has_a_foreign_stop_word():
    """Then they have the same words, and the same results, as when the weights were fitted."""
    foreign = {*" ".join(OTHERS).split()} - {*ENGLISH.split()}
    asked = [*_questions()]
    assert len(asked) > 4000
    for question in asked:
        assert english(question), question
        assert foreign.isdisjoint(question.lower().split()), question


def _questions():
    def inside(value):
        if isinstance(value, dict):
            for name, part in value.items():
                yield from [part] if name == "question" and isinstance(part, str) else inside(part)
        elif isinstance(value, list):
            for part in value:
                yield from inside(part)

    data = resources.files("scaleqa.records") / "data"
    for folder in (data, data / "s1", data / "s2"):
        for file in folder.iterdir():
            if file.name.endswith(".jsonl"):
                for line in file.read_text("utf-8").splitlines():
                    yield from inside(json.loads(line))


@given(st.text())
def test_any_text_has_terms_that_are_terms_again(text):
    found = terms(text)
    assert {*found} == distinct(text)
    assert all(found)
    assert not any(term.isspace() for term in found)
    assert count(text) >= 0
    assert 0 <= extent(found) <= len(found)


@given(st.text())
def test_composed_and_decomposed_texts_have_the_same_terms(text):
    composed = unicodedata.normalize("NFC", text)
    assert terms(unicodedata.normalize("NFD", text)) == terms(composed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("two words", 2),
        ("Wir wohnen am See", 4),
        ("我妹妹的猫叫小雪", 5),
        ("在 GitHub 上", 2),
        ("ฉันลืมกุญแจ", 2),
        ("고양이를 키우고 있어요", 3),
    ],
)
def test_lengths_in_words_are_estimated_for_scripts_without_spaces(text, words):
    assert count(text) == words


def test_a_chinese_question_is_not_longer_than_an_english_one():
    english_question = extent(distinct("What did my father-in-law work as before he retired?"))
    assert extent(distinct("我岳父退休以前是做什么工作的？")) < 2 * english_question


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Das Geburtstagsgeschenk liegt im Keller", "Welches Geschenk habe ich?"),
        ("Das Geschenk liegt im Keller", "Wo ist das Geburtstagsgeschenk?"),
        ("Het verjaardagscadeau ligt in de kelder", "Waar ligt het cadeau?"),
        ("Lentokenttäbussi oli myöhässä", "Mikä bussi?"),
        ("Wir setzen max_tokens auf 512", "Wie viele tokens?"),
        ("Der E-Mail-Verteiler ist neu", "Wer ist im Verteiler?"),
        ("Сестра купила собаку", "Где собак держат?"),
    ],
)
def test_parts_of_compounds_stand_for_words_that_do_not_occur(said, asked):
    postings = Postings()
    for text in ("Es regnet seit gestern", said, "Der Zug war voll"):
        postings.append(text)
    weights = term_weights(asked, postings, rarity_power=2.0, name_factor=2.0)
    covered = postings.coverage(weights)
    assert covered.argmax() == 1
    assert covered[1] > 0.05
    assert sum(weights.values()) == pytest.approx(1)


def test_english_questions_have_no_related_words():
    postings = Postings()
    postings.append("We sold the bookshelf")
    weights = term_weights("Which shelf did we sell?", postings, rarity_power=2.0, name_factor=2.0)
    assert {*weights} == {"shelf", "sell"}


def test_folding_is_done_once():
    for text in ("İSTANBUL ISPARTA", "Straße ﬁn ＡＢＣ", "الأُسْرَة ٢٠٢٦", "ёж"):
        assert folded(folded(text)) == folded(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where did Nadia move to?", True),
        ("wo wohnt Nadia", True),
        ("где ключи", True),
        ("鑰匙在哪裡", True),
        ("sourdough", False),
        ("lost keys Lisbon", False),
        ("qxv zzkw plmgrt", False),
        ("", False),
    ],
)
def test_what_people_ask_has_small_words(text, expected):
    assert phrased(text) is expected
