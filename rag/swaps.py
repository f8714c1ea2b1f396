"""A fact changed: another number, month or name in its place, by rules and always the same one.

So an answer is asked whether it rests on its source: where the source says something else, an
answer that does follows along. English and Korean numbers; names by another name of the passages.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)*|(?<=[^\W\da-zA-Z])\d+(?:[.,:]\d+)*")
_YEAR = range(1000, 2100)
_DAYS = range(10, 32)  # of a month: what stays below 32 stays a date
_HOURS = range(10, 24)

# Words of which another of the same row can take the place.
# fmt: off
_ROWS = (
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    ("January", "February", "March", "April", "June", "July", "August", "September", "October",
     "November", "December"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"),
)
_KOREAN = ("두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열")
# fmt: on
_FURTHER = 3  # places along a row
_COUNTED = (
    r"\s?(?:명|개|번|달|시간|시|가지|차례|살|대|권|장|마리|곳|배|분|사람|벌|잔|병|층|쪽|해|주)"
)
_WORD = re.compile(
    rf"(?<!\w)(?:{'|'.join(chain(*_ROWS[:4]))})(?!\w)|(?<![가-힣])(?:{'|'.join(_ROWS[4])})"
    rf"|(?<![가-힣])(?:{'|'.join(_KOREAN)})(?={_COUNTED})"
)

_NAME = re.compile(
    r"(?:(?<=(?P<before>[\w,;:)(]) )|(?<=\())"
    r"(?:[A-Z][\w-]*\w)(?: [A-Z][\w-]*\w)*|\b[A-Z]{2,}(?:-\w+)?\b"
)
_PLACED = frozenset(("at", "from", "in", "near", "to", "towards", "via"))
_TITLED = frozenset(("dr", "by", "captain", "mr", "mrs", "ms", "president", "prof", "professor"))


@dataclass(frozen=True, slots=True)
class Swap:
    """One fact for another."""

    old: str
    new: str

    def __call__(self, text: str) -> str:
        """The text with each occurrence of the fact changed."""
        behind = r"(?![\d]|[.,:]\d)" if self.old[-1].isdigit() else r"(?![A-Za-z0-9_])"
        before = r"(?<![A-Za-z0-9_]|[가-힣])" if self.old in _KOREAN else r"(?<![A-Za-z0-9_])"
        if self.old[0].isdigit():
            before = r"(?<![\d.,:])"
        if self.old in _KOREAN:
            behind = f"(?={_COUNTED})"
        return re.sub(before + re.escape(self.old) + behind, lambda _: self.new, text)


def find_swap(claim: str, source: str, *, question: str = "", others: str = "") -> Swap | None:
    """What to change in a source and in the claim that rests on it.

    The first number that both hold and the question does not, else the first name, if there is
    another of its kind.

    Args:
        claim: of an answer
        source: the sentence that bears it out
        question: what it says is not what was asked for
        others: text to take another name from

    Returns:
        None where they share no such fact
    """
    for old, new in chain(_numbers(source), _names(source, f"{source} {claim} {question}", others)):
        swap = Swap(old, new)
        if old.startswith(new) or new.startswith(old):
            continue  # one text would be the beginning of the other
        if swap(claim) != claim and swap(source) != source and swap(question) == question:
            return swap
    return None


def _numbers(text: str) -> Iterator[tuple[str, str]]:
    found = [(match.start(), match[0], _other_number(match[0])) for match in _NUMBER.finditer(text)]
    found += [(match.start(), match[0], _other_word(match[0])) for match in _WORD.finditer(text)]
    for _, old, new in sorted(found):
        yield old, new


def _other_number(number: str) -> str:
    """As long as the old one: only its first group of digits changes, and a year stays one."""
    match = re.match(r"\d+", number)
    assert match is not None, "a number begins with a digit"
    digits, rest = match[0], number[match.end() :]
    value, width = int(digits), len(digits)
    if width == 4 and not rest.startswith(",") and value in _YEAR:
        return f"{value - 7}{rest}"
    if digits[0] == "0" or width == 1:
        return f"{digits[:-1]}{(int(digits[-1]) + 2) % 9 + 1}{rest}"
    alike = _HOURS if rest.startswith(":") else _DAYS
    if value not in alike:
        alike = range(10 ** (width - 1), 10**width)
    return f"{alike[(value - alike[0] + 13 * 10 ** (width - 2)) % len(alike)]}{rest}"


def _other_word(word: str) -> str:
    row = next((row for row in _ROWS if word in row), _KOREAN)
    return row[(row.index(word) + _FURTHER) % len(row)]


def _names(text: str, held: str, others: str) -> Iterator[tuple[str, str]]:
    known = held.casefold()
    there = [(name, kind) for name, kind in _named(others) if name.casefold() not in known]
    for name, kind in _named(text):
        alike = [other for other, its in there if its == kind]
        if alike:  # of as many words, if there is one: their likelihoods compare best
            yield name, min(alike, key=lambda other: abs(len(other.split()) - len(name.split())))


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Names that do not begin a sentence, and of what kind the word before each says they are."""
    for match in _NAME.finditer(text):
        name = match[0]
        if _WORD.fullmatch(name):
            continue
        words = re.findall(r"\w+", text[max(0, match.start() - 24) : match.start()].casefold())
        last = words[-1] if words else ""
        kind = "place" if last in _PLACED else "person" if last in _TITLED else "other"
        yield name, "letters" if name.isupper() and " " not in name else kind
