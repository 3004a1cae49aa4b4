"""Phrases that announce: what they cover, and finished answers that they must leave alone."""

from __future__ import annotations

from pathlib import Path

import bumble_judge
import pytest
from bumble_judge.form import asks, is_echo, is_reaction, is_wordless, sentences, size
from bumble_judge.hints import Hints

from bumble_core.languages import read_packs
from bumble_core.types.languages import LanguagePack

PACKS = read_packs(Path(bumble_judge.__file__).parent / "languages")
HINTS = Hints(PACKS)
LANGUAGES = ["ar", "de", "en", "es", "fr", "hi", "ja", "pt", "ru", "zh"]

PROMISES = [
    "I'm on it! One moment, please.",
    "Sure thing. Let me open the file and see what is in it.",
    "Ich kümmere mich darum. Einen Moment bitte.",
    "Klar, das schaue ich mir gleich an!",
    "Vale, lo reviso y te aviso.",
    "Très bien, je vérifie tout de suite.",
    "Deixa comigo, vou conferir agora.",
    "Хорошо, сейчас проверю.",
    "好的，我来看一下，请稍等。",
    "了解です、確認してみますね。少々お待ちください。",
    "ठीक है, मैं देखकर बताता हूँ। एक मिनट।",
    "حسناً، سأبحث لك عن ذلك. لحظة من فضلك.",
]
ANSWERS = [
    "Looking good! The answer is 42.",
    "Put butter on it.",
    "The film starts shortly.",
    "Boil it for one minute.",
    "It will rain tomorrow.",
    "Reading every day helps most.",
    "You can do it in Excel.",
    "Shall I open it?",
    "I can't do that: I have no access to your mail.",
    "Hello Ms Meyer, I will send you the report on Friday. Kind regards, Tom",
    "Das bekommst du im Supermarkt.",
    "Im Moment regnet es in Bremen.",
    "Espera diez minutos y sácalo del horno.",
    "La tienda está cerrada ahora mismo.",
    "Attendez dix minutes avant de goûter.",
    "Je vais très bien, merci !",
    "Espere dez minutos antes de servir.",
    "Сейчас пять градусов тепла.",
    "Думаю, лучше взять патент: налог ниже.",
    "Варите одну минуту.",
    "北京现在正在下雨。",
    "要加点盐、糖等等。",
    "お店は10時に開きます。",
    "もう少し塩を足してください。",
    "ठीक हो जाएगा, चिंता मत करो।",
    "लोग इसे सुबह खाते हैं।",
    "افتح الإعدادات ثم اختر اللغة.",
    "سوف تمطر غداً في بيروت.",
    "دقيقة واحدة تكفي لسلق السبانخ.",
]


@pytest.mark.parametrize("text", PROMISES)
def test_a_text_that_only_announces_is_covered(text: str) -> None:
    assert HINTS.announces(text).covers


@pytest.mark.parametrize("text", ANSWERS)
def test_a_finished_answer_is_not_covered(text: str) -> None:
    assert not HINTS.announces(text).covers


@pytest.mark.parametrize(
    "text",
    ["Hi there!", "спасибо большое", "哈哈哈哈", "ありがとうございます！", "शुक्रिया!", "مع السلامة", "oi, bom dia!"],
)
def test_greetings_and_reactions_are_small_talk(text: str) -> None:
    assert HINTS.is_small_talk(text)


@pytest.mark.parametrize("text", ["hi, fix the build", "thanks, and now delete it", "谢谢，再查一下天气", "", "42"])
def test_what_asks_for_more_is_no_small_talk(text: str) -> None:
    assert not HINTS.is_small_talk(text)


def test_ten_languages_have_every_list() -> None:
    lists = {"promise", "progress", "pro_forma", "assent", "no_promise", "letter", "intent"} | {"greeting", "remark"}
    assert {pack.language: set(pack.lists) for pack in PACKS} == dict.fromkeys(LANGUAGES, lists)


def test_a_plugin_may_add_a_language() -> None:
    dutch = LanguagePack(language="nl", lists={"promise": ("ik ga",), "progress": ("een moment",)})
    text = "Ik ga het meteen bekijken. Een moment!"
    assert not HINTS.announces(text).covers
    assert Hints((*PACKS, dutch)).announces(text).covers


def test_form_is_read_in_any_script() -> None:
    assert (size("abc 12"), size("好的"), size("…")) == (5, 6, 0)
    assert [is_wordless(text) for text in ("…", "- -", "", "a", "👍", "好")] == [True, True, True, False, False, False]
    assert [is_reaction(text) for text in ("👍", "😂!", "!", "a 👍")] == [True, True, False, False]
    assert [asks(text) for text in ("So?", "好吗？", "هل؟", "«Да?»", "So.")] == [True, True, True, True, False]
    assert [is_echo(text, "Who is it, please?") for text in ("who is it, PLEASE", "who", "it is me!")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One. Two!\nThree", 3),
        ("Version 1.2 is out.", 1),
        ("Let's see: 2 + 2 = 4", 2),
        ("Three things: salt, oil, flour", 1),
        ("好的，我看看。", 2),
        ("", 0),
    ],
)
def test_sentences_are_told_by_their_marks(text: str, pieces: int) -> None:
    assert len(sentences(text)) == pieces
