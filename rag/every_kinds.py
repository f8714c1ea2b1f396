"""What kind of thing answers a question: a day, a length of time, a sum, a share, a number.

Questions say it ("how long", "얼마"), or the other documents do: where most of them answer with a
length of time, a sentence without one is no answer.
"""

import re
from typing import Literal

Kind = Literal["date", "duration", "money", "percent", "number"]

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:\s+\d{{4}})?\b|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?:,?\s+\d{{4}})?\b|\b{_MONTH}\s+\d{{4}}\b"
    r"|\b\d{4}[-/.]\s?\d{1,2}[-/.]\s?\d{1,2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b"
    r"|\d{4}년(?:\s?\d{1,2}월)?(?:\s?\d{1,2}일)?|\d{1,2}월\s?\d{1,2}일",
)
_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|sixty|ninety"
)
_COUNT = rf"(?:\d[\d,.]*|\b(?:{_WORDS})\b|\b(?:half )?an?\b)"
_DURATION = re.compile(
    rf"{_COUNT}[\s-]*(?:\(\w+\)\s*)?(?:(?:calendar|working|business|full)\s+)?"
    r"(?:second|minute|hour|day|week|month|quarter|year)s?\b"
    r"|(?:\d+|[한두세네]|일|이|삼)\s?(?:시간|주일?|개월|달|년)(?!\s?\d{1,2}월)|\d+\s?일(?!자)",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"(?:[$€£₩¥]|\b(?:EUR|USD|GBP|CHF|KRW|JPY)\b)\s?\d"
    r"|\d[\d,.]*\s?(?:million |billion |thousand )?"
    r"(?:euros?|dollars?|pounds?|won|EUR|USD|GBP|CHF)\b"
    r"|\d[\d,.]*\s?[천백십만억]*\s?원(?![가-힣]{2})|\d[\d,.]*\s?(?:만|억|천만|백만)\s?원",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\d\s?(?:%|percent\b|per cent\b|퍼센트|프로(?!그|젝|세))", re.IGNORECASE)
_DIGIT = re.compile(r"\d")

_ASKED: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "date",
        re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|year)|\bdate\b|언제|날짜|\w+일은", re.I),
    ),
    (
        "duration",
        re.compile(
            r"\bhow long\b|\bhow many (?:\w+ )?(?:days|weeks|months|years|hours|minutes)\b"
            r"|\bperiod\b|\bterm of\b"
            r"|며칠|몇\s?(?:일|주|달|개월|년|시간)|기간|얼마나\s?(?:오래|계속|걸)",
            re.I,
        ),
    ),
    (
        "money",
        re.compile(
            r"\bhow much\b|\b(?:fee|price|cost|costs|salary|rent|amount|sum|budget|cap|limit)\b"
            r"|얼마(?!나)|금액|가격|비용|급여|임대료|한도|대금은",
            re.I,
        ),
    ),
    ("percent", re.compile(r"\b(?:interest|rate|percent\w*|share)\b|이자|이율|비율|퍼센트", re.I)),
    ("number", re.compile(r"\bhow many\b|\bwhat number\b|몇", re.I)),
)


def kinds(text: str) -> frozenset[Kind]:
    """What a sentence holds; anything with a digit holds a number."""
    found: set[Kind] = set()
    if _DATE.search(text):
        found.add("date")
        text = _DATE.sub(" ", text)  # the day of a date is no length of time
    if _DURATION.search(text):
        found.add("duration")
    if _MONEY.search(text):
        found.add("money")
    if _PERCENT.search(text):
        found.add("percent")
    if found or _DIGIT.search(text):
        found.add("number")
    return frozenset(found)


def asked(question: str) -> frozenset[Kind]:
    """The kinds of which one should answer; none where the question does not say."""
    found: set[Kind] = {kind for kind, words in _ASKED if words.search(question)}
    if "duration" in found or "percent" in found:
        found.discard("number")
    return frozenset(found)
