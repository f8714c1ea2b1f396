"""Hangul as KS X 1001 spells the syllables that it has no code for: a filler and three letters."""

import re

_FILLER = "\u3164"
_INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = _FILLER + "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_SEQUENCE = re.compile(f"{_FILLER}([{_INITIALS}])([{_VOWELS}])([{_FINALS}])")


def compose_ks_sequences(text: str) -> str:
    """Writes `(filler)ㄸㅗㅁ` as 똠; Python's CP949 leaves the four letters apart."""
    return _SEQUENCE.sub(_syllable, text) if _FILLER in text else text


def _syllable(letters: re.Match[str]) -> str:
    initial, vowel, final = (
        alphabet.index(letter)
        for alphabet, letter in zip((_INITIALS, _VOWELS, _FINALS), letters.groups(), strict=True)
    )
    return chr(0xAC00 + (initial * len(_VOWELS) + vowel) * len(_FINALS) + final)
