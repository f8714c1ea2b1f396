"""What kind of amount a question asks for, and whether a sentence states one.

A sentence about the thing that was asked about often holds no answer, because it holds no price, no
weight or no number of days. The kind of the expected answer is an old help in answering questions:
these are the classes below NUM of Li & Roth (2002), "Learning question classifiers".
"""

import re
from enum import Enum, auto


class Quantity(Enum):
    """A kind of amount."""

    number = auto()  # any
    money = auto()
    weight = auto()
    length = auto()
    duration = auto()
    speed = auto()
    temperature = auto()
    share = auto()
    telephone = auto()


# A number in figures or in words; in Korean before what is counted ("세 명").
_COUNT = (
    r"(?:\d[\d.,]*"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|\w+ty-\w+"
    r"|hundreds?|thousands?|millions?|billions?|trillions?|dozens?|half|quarter|third|once|twice"
    r"|double|single|both|none|no)\b"
    r"|(?<![가-힣])(?:한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|스무)"
    r"(?= ?(?:명|사람|분|개|대|번|장|권|곳|가지|차례|배|시|달|주|살|마리|층|채|통|잔|쌍|척|건)))"
)
# Before a unit: also an article, and 3만, 150억.
_NUMBER = rf"(?:{_COUNT}(?:[십백천만억조]+ ?)*|\b(?:an?|per|several|few)\b)"
_DAYS = (
    r"하루|이틀|사흘|나흘|닷새|엿새|이레|열흘|보름|반나절|한나절|당일"
    r"|\b(?:daily|weekly|monthly|yearly|annually)\b"
)
_UNITS = {
    Quantity.money: r"euros?|eur|usd|krw|gbp|dollars?|pounds?|won|(?<!per )cents?|pence|francs?|yen"
    r"|€|£|\$|원|달러|유로|엔|위안|파운드",
    Quantity.weight: r"[kmµ]?g|t|tonn?e?s?|(?:kilo|milli)?gram(?:me)?s?|kilos?|pounds?|lbs?|oz"
    r"|ounces?|(?:킬로|밀리)?그램|톤|근",
    Quantity.length: r"[mckµn]?m|(?:milli|centi|kilo|nano|micro)?met(?:re|er)s?|feet|foot|ft"
    r"|inch(?:es)?|miles?|yards?|storeys?|light.years?|(?:밀리|센티|킬로)?미터|층|척|마일|피트|인치",
    Quantity.duration: r"(?:milli)?seconds?|m?s|minutes?|mins?|hours?|hrs?|h|days?|nights?|weeks?"
    r"|fortnights?|months?|years?|decades?|centur(?:y|ies)|generations?|초|분|시간|일|주|주일|개월"
    r"|달|년|해|박|세기|영업일",
    Quantity.speed: r"m/s|km/h|kph|mph|knots?|kn|[kmg]?bps|[kmg]?bit/s|(?:met(?:re|er)s?"
    r"|kilomet(?:re|er)s?|miles?) (?:per|an?) (?:second|hour)|노트",
    Quantity.temperature: r"°|degrees?|kelvins?|k|℃|도",
    Quantity.share: r"%|per ?cent|percentage|퍼센트|프로|할",
}
# The unit behind the number, perhaps with a word between ("five unused days").
_WITH_UNIT = {
    kind: re.compile(rf"{_NUMBER}[\s-]*(?:\w+[\s-]+)?(?:{units})(?![A-Za-z])", re.IGNORECASE)
    for kind, units in _UNITS.items()
}
_OTHERWISE = {
    Quantity.number: re.compile(f"{_COUNT}|{_DAYS}", re.IGNORECASE),
    Quantity.money: re.compile(
        r"(?:[€£$₩]|\b(?:eur|usd|gbp|krw))\s?\d"
        r"|(?:price|costs?|fee|가격|요금|수수료|비용)\w*\W{1,3}\d|\bfree\b|무료|무상",
        re.IGNORECASE,
    ),
    Quantity.duration: re.compile(
        rf"{_DAYS}|\b(?:since|until|till)\b.*\d"
        r"|\b(?:days|weeks|months|years|decades|centuries|millennia)\b",
        re.IGNORECASE,
    ),
    Quantity.speed: re.compile(r"[초시]속 ?\d"),
    Quantity.share: re.compile(
        r"\b(?:half|thirds?|quarters?|in (?:ten|five|a hundred))\b|절반|분의|\d/\d", re.IGNORECASE
    ),
    Quantity.telephone: re.compile(
        r"\d[\d ()-]{5,}\d|내선 ?\d|\bext(?:ension|\.)? ?\d", re.IGNORECASE
    ),
}

# The first that fits decides. Kinds that may be asked for by the same words stand together.
_ASKED: tuple[tuple[str, tuple[Quantity, ...]], ...] = (
    (r"(?:phone|fax) number|전화 ?번호", (Quantity.telephone,)),
    (
        r"how heavy|\bweighs?\b|(?:is|was) the weight of"
        r"|무게[가는를]? ?(?:얼마|몇|$|\?)|얼마나 무거",
        (Quantity.weight,),
    ),
    (
        r"what (?:percentage|proportion|share)|percentage of|how many per ?cent"
        r"|몇 ?(?:퍼센트|프로|%)|비율[이은]? ?(?:얼마|몇|$|\?)",
        (Quantity.share,),
    ),
    (
        r"how (?:fast|quick)|몇 노트|(?:풍속|속도)[이가은는]? ?(?:얼마|몇)",
        (Quantity.speed, Quantity.duration),
    ),
    (r"how (?:hot|cold|warm)|what temperature|몇 도|온도[가는]? 얼마", (Quantity.temperature,)),
    (
        r"how (?:tall|wide|deep|thick)|(?:높이|길이|깊이|두께|거리|지름|너비)[가는]? 얼마"
        r"|몇 ?(?:미터|센티)|얼마나 (?:높|깊|길|두꺼|멀|떨어)",
        (Quantity.length,),
    ),
    (
        r"how (?:far|long)|how many (?:metres|meters|kilomet|miles|feet)",
        (Quantity.length, Quantity.duration),
    ),
    (
        r"how (?:soon|late)|how many (?:second|minute|hour|day|night|week|month|year)s?\b"
        r"|며칠|몇 ?(?:초|분|시간|일|주|개월|달|년)(?!에)|얼마 ?동안|얼마나 (?:오래|걸리)",
        (Quantity.duration,),
    ),
    (
        r"how much .*\b(?:cost|paid|pay|money|fee|charge|earn|salary|price)\b"
        r"|\bwhat (?:did|does|do|will|would) .*\bcost\b"
        r"|what (?:is|was|are|were) the (?:price|cost|fee|fine)\b"
        r"|(?:가격|요금|값|수수료|수당|비용|지원금|급여|월급)[은는이가을를]? ?얼마(?!나)"
        r"|얼마[를나]? ?(?:내|받|드나|들|지불|주나)|몇 ?원",
        (Quantity.money,),
    ),
    (r"how (?:many|much|high|large|big|old)|몇|얼마", (Quantity.number,)),
)
_ASKS = tuple((re.compile(words, re.IGNORECASE), kinds) for words, kinds in _ASKED)


def asks_for(question: str) -> tuple[Quantity, ...]:
    """The kinds of amount, one of which an answer states; () where none is asked for."""
    return next((kinds for words, kinds in _ASKS if words.search(question)), ())


def states(text: str, kinds: tuple[Quantity, ...]) -> bool:
    """Whether a text holds an amount of one of the kinds."""
    patterns = [each[kind] for kind in kinds for each in (_WITH_UNIT, _OTHERWISE) if kind in each]
    return any(pattern.search(text) for pattern in patterns)
