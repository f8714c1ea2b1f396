"""Does a decoded text read like the language that its encoding is for? Judged by its letters."""

import re

_HANGUL = re.compile("[가-힣]")
# What Korean text has little of: hanja, kana, and the jamo that Japanese kana decode to. The five
# jamo left out are typed on purpose, as laughter and tears.
_NOT_KOREAN = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u3131-\u3146\u3148-\u314a\u314c\u314d\u314f-\u315b"
    "\u315d-\u315f\u3161-\u318e]"
)
_SYMBOL_IN_WORD = re.compile("(?<=[A-Za-z])[¡-©¬-³¶¸¹¼-¿×÷‚„†‡‰ƒ](?=[A-Za-z])")
_ACCENTED = re.compile("[À-ÖØ-öø-ÿŒœŠšŽžŸ]")
_LATIN = re.compile("[A-Za-z]")
_ASCII = re.compile("[\t\n\r -~]")
_LIVING_SCRIPTS = re.compile(
    "[\t\n\r -~\u00a0-\u06ff\u0900-\u0e7f\u1100-\u11ff\u1e00-\u206f\u20a0-\u27bf\u3000-\u318f"
    "\u3200-\u33ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
# The 2,350 syllables of KS X 1001, in which nearly all Korean is written. CP949 adds 8,822 more,
# and it is those that the bytes of other encodings turn into.
_COMMON_HANGUL = frozenset(
    bytes((lead, trail)).decode("euc_kr")
    for lead in range(0xB0, 0xC9)
    for trail in range(0xA1, 0xFF)
)


def reads_korean(text: str) -> bool:
    """Expects text decoded as CP949."""
    hangul = _HANGUL.findall(text)
    common = sum(letter in _COMMON_HANGUL for letter in hangul)
    return common >= 0.7 * (len(hangul) + len(_NOT_KOREAN.findall(text)))


def is_surely_korean(text: str) -> bool:
    """Expects text decoded by an encoding that nothing but its letters speaks for."""
    hangul = _HANGUL.findall(text)
    common = sum(letter in _COMMON_HANGUL for letter in hangul)
    living, ascii_letters = len(_LIVING_SCRIPTS.findall(text)), len(_ASCII.findall(text))
    return (
        len(hangul) >= 2
        and common >= 0.9 * len(hangul)
        and len(hangul) >= 0.5 * (living - ascii_letters)
        and living >= 0.97 * len(text)
    )


def is_hangul_beside_ascii(text: str) -> bool:
    """Expects a few words decoded as CP949 that may have been Latin-1: two syllables, common ones,
    and nothing but ASCII besides."""
    foreign = [letter for letter in text if not letter.isascii()]
    return len(foreign) >= 2 and all(letter in _COMMON_HANGUL for letter in foreign)


def reads_western(text: str) -> bool:
    """Expects text decoded as CP1252: a few accented letters among plain ones."""
    accented = len(_ACCENTED.findall(text))
    if accented > max(2, 0.4 * len(_LATIN.findall(text))):
        return False
    return len(_SYMBOL_IN_WORD.findall(text)) <= 0.1 * accented


def reads_like_utf16(text: str) -> bool:
    """Expects text decoded as UTF-16 or UTF-32: spaces and letters of scripts in daily use."""
    ascii_letters = len(_ASCII.findall(text))
    return ascii_letters > 0 and len(_LIVING_SCRIPTS.findall(text)) >= 0.97 * len(text)
