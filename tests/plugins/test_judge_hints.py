"""Phrases that announce: what they cover, and finished answers that they must leave alone."""

from __future__ import annotations

from pathlib import Path

import bumble_judge
import pytest
from bumble_judge.form import asks, is_echo, is_reaction, is_wordless, quotes, repeats, sentences, size
from bumble_judge.hints import NAMES, Hints

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
    "Good call. I'm heading over to their site to find out.",
    "Dense sourdough usually has one of a few culprits. Let's track yours down together.",
    "Certainly. The overview will be prepared and sent to you shortly.",
    "Oh nein, ausgerechnet Wolle! Den Fleck knöpfe ich mir gleich vor, ich suche die Mittel heraus.",
    "Se me ocurren varias. Te las voy contando.",
    "Le bouton n'est relié à aucune action. J'ajoute le gestionnaire et je teste.",
    "Receita gringa, né? Convertendo tudinho.",
    "Нет проверки на пустую строку. Добавлю её и прогоню ещё раз.",
    "绿萝发黄很常见，别担心。我来告诉你是怎么回事。",
    "大きな決断ですね。お金、やりがい、働き方の三つに分けて、一緒に見ていきましょう。",
    "सही समय पर पूछा। ब्याज, ख़र्च और अवधि, एक-एक करके देखेंगे।",
    "لا تقلقي، هذا شيء شائع. سأشرح لك الأسباب واحداً واحداً.",
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
    "Not really. I'm switched off between our chats, which saves on pillows.",
    "Guilty as charged. I'll do better next time.",
    "Congratulations! I'm doing a little digital dance right now.",
    "Let me explain it with a key: whoever holds it may enter, and everybody else waits at the door for their turn.",
    "I'd call it “Bread and Circuits”, and I'll put it on the sign.",
    "Ein Montag ist eine leere Seite: Noch hat niemand Kaffee darauf verschüttet.",
    "Nein, ich schaue nie fern.",
    "Te recomiendo La tregua: se lee en dos tardes.",
    "Je te propose Paprika : court, chaud et un peu piquant.",
    "Não, entre uma conversa e outra eu fico desligado.",
    "С этим не помогу: это чужая переписка. Подскажу, как восстановить свой доступ.",
    "Отправлю, только скажите, какой из двух и кому?",
    "可以，我先确认一下：发哪一份，发给谁？",
    "「しょうび」と読みます。",
    "यह मैं नहीं करूँगा, यह ग़ैरक़ानूनी है। आपके नेटवर्क में मदद करता हूँ।",
    "لن أفعل ذلك، فهو مخالف للقانون. سأساعدك في تحسين شبكتك.",
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


@pytest.mark.parametrize(
    ("asked", "text", "covers"),
    [
        ("Write a one-line text to Sam that I'm running late", "Running late, sorry! I'll get there soon.", False),
        ("Write a one-line text to Sam that I'm running late", "Sure, I'll write something short.", True),
        ("Write a one-line text to Sam that I'm running late", "I'll get there soon, and bring it.", False),
        ("Play a pirate who greets me", "Ahoy! Come aboard, I'll show ye me parrot.", False),
        ("Show me your parrot", "Ahoy! Come aboard, I'll show ye me parrot.", True),
        ("Translate “early bird”", "I'll translate “early bird” right away.", True),
        ("Translate “early bird”", "I'll give you “matutina avis”.", False),
        ("the report?", "The report? I'm opening it.", True),
        ("open it", "The report? I'm opening it.", False),
    ],
)
def test_what_was_asked_tells_whether_a_first_person_is_the_assistants(asked: str, text: str, covers: bool) -> None:
    assert HINTS.announces(text, asked).covers is covers


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Ok, just opening a file", ("opening",)),
        ("An opening", ()),
        ("Still running it", ("running",)),
        ("Running late", ()),
        ("Ok now", ("now",)),
        ("Now what", ()),
        ("What now", ()),
    ],
)
def test_an_anchored_phrase_counts_at_its_end_of_a_clause_only(text: str, phrases: tuple[str, ...]) -> None:
    lists = {"promise": ("^opening", "running$", "^now$"), "filler": ("ok", "just", "it")}
    assert Hints([LanguagePack(language="en", lists=lists)]).announces(text).phrases == phrases


def test_who_and_what_make_an_announcement_in_one_language_only() -> None:
    english = LanguagePack(language="en", lists={"will": ("I'll",), "task": ("look*",), "past": ("yesterday",)})
    german = LanguagePack(language="de", lists={"will": ("ich",), "task": ("schaue",)})
    hints = Hints((english, german))
    texts = ("I'll be looking", "ich schaue", "I'll, looking", "ich am looking", "yesterday I'll look")
    assert [bool(hints.announces(text).phrases) for text in texts] == [True, True, False, False, False]


def test_a_long_text_announces_nothing() -> None:
    assert HINTS.announces("I'll look it up. " * 20).covers
    assert HINTS.announces("I'll look it up. " * 400).phrases == ()


def test_ten_languages_have_every_list() -> None:
    assert [pack.language for pack in PACKS if set(pack.lists) == set(NAMES)] == LANGUAGES


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

    assert [quotes(text, "say «no»") for text in ("«No»!", "«yes»", "`x`", "no", "«»")] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [repeats(text, "which reports?") for text in ("The report?", "Reporting?", "?")] == [False, True, True]


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
