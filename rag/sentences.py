"""Where sentences begin and end, in English and Korean: by rules, in linear time.

A text falls into blocks first. A block is a line, or the lines of a paragraph that somebody wrapped
at a fixed width; a heading, a list item and a table row are blocks of their own. Within a block, a
stop ends a sentence unless what stands around it says otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

# A stop, with the quotes, brackets and note numbers after it that belong to its sentence.
_STOP = re.compile(
    r"(?P<mark>[.!?…。！？｡]+)(?P<closing>[\"'”’»」』）)\]】》〉*_`]*)(?:[ \t]?\[\d{1,3}\])*"
)
_BEFORE = 24  # characters before a stop that are looked at
_LAST_WORD = re.compile(r"[^\s\"'“‘(\[「『*_`]*\Z")
_NEXT_WORD = re.compile(r"[\s\"'“‘(\[「『〈《<*_`~–—-]{0,20}(?P<word>\w{0,20})")
_NUMBERING = re.compile(
    r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5}|[가나다라마바사아자차카타파하]"
    r"|(?:그림|표|Table|Figure|Chapter|Part|Step) ?[\w.-]{1,6})"
)
_DATE = re.compile(r"(?:\d{1,4}\.\s\d{1,2}|\d{4}\.\d{1,2}\.\d{1,2})\Z")  # 2024. 3 and 2024.3.15
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]")  # J, U.S, Ph.D
_SAID = re.compile(r"(?:(?:이?라)?[고며는]|하고|하며|하자|하는|라면서)(?!\w)")  # "…" 하고 말했다
_KOREAN_ENDINGS = "다요까죠"

# fmt: off
_TITLES = frozenset((
    "Adm", "Capt", "Col", "Dr", "Gen", "Gov", "Hon", "Lt", "Messrs", "Mr", "Mrs", "Ms", "Mt", "Mx",
    "Prof", "Rep", "Rev", "Sen", "Sgt", "St",
))
_NEVER_LAST = frozenset(("al", "cf", "e.g", "eg", "i.e", "ie", "v", "viz", "vs"))
_BEFORE_NUMBERS = frozenset((
    "app", "approx", "art", "c", "ca", "ch", "chap", "ed", "eq", "eqs", "ex", "ext", "fig", "figs",
    "no", "nos", "nr", "p", "para", "pp", "pt", "ref", "refs", "sec", "sect", "tab", "tel", "ver",
    "vol", "vols",
))
_SELDOM_LAST = frozenset((
    "Assn", "Ave", "Blvd", "Bros", "Co", "Corp", "Dept", "Est", "Inc", "Jr", "Ltd", "Ph.D", "Rd",
    "Sr", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec",
))
_FIRST_WORDS = frozenset((
    "a", "after", "all", "also", "an", "and", "another", "as", "at", "before", "both", "but", "by",
    "each", "every", "for", "from", "he", "her", "here", "his", "how", "however", "i", "if", "in",
    "it", "its", "many", "most", "my", "no", "not", "on", "one", "or", "other", "our", "she",
    "since", "so", "some", "such", "that", "the", "their", "then", "there", "these", "they", "this",
    "those", "though", "to", "under", "until", "we", "what", "when", "where", "while", "who", "why",
    "with", "you", "your",
))
# fmt: on

_BULLET_LINE = re.compile(  # list items, headings, quotations, rules, fences
    r"\s*(?:[-*+•·▪◦○●□■◇◆▶※☞–—]\s|#{1,6}\s|>|\||```|~~~|[=\-*_]{3,}\s*\Z|[①-⑳㉮-㉻])"
)
_NUMBERED_LINE = re.compile(
    r"\s*(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[가-하])[.)]\s|\d{1,3}(?:\.\d{1,3})+\s"
    r"|제\s?\d+\s?[조장절항])"
)
_HEADING_LINE = re.compile(r"\s*(?:#{1,6}\s|[=\-*_]{3,}\s*\Z|```|~~~)")
_PAIR_LINE = re.compile(r"\s*[^\s:|][^:|]{0,30}:\s")  # the row of a table or a form
_FIRST_WORD = re.compile(r"\s*(\S{0,20})")
_FINISHED = re.compile(r"(?:[:;|]|[다요까죠함임음됨])\s*\Z")
_STOPPED = re.compile(r"[.!?。…][\"'”’»」』）)\]]*\s*\Z")
_NARROWEST = 40  # columns; shorter lines are not prose that was wrapped
_WIDEST = 140  # columns; nobody wraps by hand further out, so a line end there is meant
_FULL = 0.85  # of the widest line: proportional type holds more or fewer characters


def sentences(text: str) -> list[tuple[int, int]]:
    """Gives the (start, end) of each sentence, in order, without the white space around it.

    Every character that is not white space lies in exactly one sentence.
    """
    return [span for start, end in _blocks(text) for span in _split(text, start, end)]


def soft_breaks(lines: Sequence[str], *, full: int | None = None) -> list[bool]:
    """Says of each line end but the last whether it only wraps a paragraph.

    It does where the next line's first word would not have fitted any more. So a short line, such
    as a heading or the last of a paragraph, ends what it says.

    Args:
        lines: Lines that follow each other without a blank one.
        full: Columns of a full line, where more is known than these lines show.
    """
    known = full is not None
    full = full_width(lines) if full is None else full
    if not known and not _NARROWEST <= full <= _WIDEST:
        return [False] * (len(lines) - 1)
    return [
        _width(line) + 1 + _width(_first_word(following)) >= _FULL * full
        and _reads_on(line, following)
        and (known or not _reads_like_rows(line, following))
        for line, following in pairwise(lines)
    ]


def full_width(lines: Sequence[str]) -> int:
    """Gives the columns of a full line; wide characters take two.

    One line in ten may stick out, such as the title above two columns.
    """
    widths = sorted(map(_width, lines), reverse=True)
    return widths[len(widths) // 10] if widths else 0


def _reads_on(line: str, following: str) -> bool:
    if _HEADING_LINE.match(line) or _BULLET_LINE.match(following) or _FINISHED.search(line):
        return False
    if _NUMBERED_LINE.match(following) and _STOPPED.search(line):
        return False
    return not any(
        " | " in each or "\t" in each or _PAIR_LINE.match(each) for each in (line, following)
    )


def _reads_like_rows(line: str, following: str) -> bool:
    """Rows of a table in columns end in a number or a name, and begin with a capital."""
    last, first = line.rstrip()[-1], following.lstrip()[0]
    return first.isascii() and first.isupper() and (last.isdigit() or last.isupper())


def _first_word(line: str) -> str:
    found = _FIRST_WORD.match(line)
    return found[1] if found else ""


def _width(text: str) -> int:
    """Gives columns on a terminal: Hangul, hanja and kana take two."""
    text = text.strip()
    return len(text) if text.isascii() else len(text) + sum(c >= "\u1100" for c in text)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    paragraph: list[tuple[int, int]] = []
    for line in re.finditer(r"[^\n]+", text):
        if line[0].isspace():
            continue
        if paragraph and line.start() > paragraph[-1][1] + 1:
            yield from _unwrapped(text, paragraph)
            paragraph = []
        paragraph.append(line.span())
    yield from _unwrapped(text, paragraph)


def _unwrapped(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Joins the lines of a paragraph where their ends mean nothing."""
    breaks = soft_breaks([text[start:end] for start, end in lines])
    begin = 0
    for index in range(len(lines)):
        if index == len(lines) - 1 or not breaks[index]:
            yield lines[begin][0], lines[index][1]
            begin = index + 1


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    block = text[start:end]
    end = start + len(block.rstrip())
    start += len(block) - len(block.lstrip())
    has_capitals = not block.islower()
    for stop in _STOP.finditer(text, start, end):
        if stop.end() < end and _ends_sentence(text, stop, start, end, has_capitals=has_capitals):
            yield start, stop.end()
            start = stop.end()
            while text[start].isspace():
                start += 1
    yield start, end


def _ends_sentence(
    text: str, stop: re.Match[str], start: int, end: int, *, has_capitals: bool
) -> bool:
    mark, closing = stop["mark"], stop["closing"]
    if stop.start() == start or (len(mark) > 3 and set(mark) == {"."}):  # leaders in a contents
        return False
    if mark[-1] in "。！？｡":
        return True
    following = _NEXT_WORD.match(text, stop.end(), end)
    word = following["word"] if following else ""
    if not text[stop.end()].isspace():
        return _ends_without_space(text, stop, word)
    if word[:1].islower() and has_capitals and word[0].isascii():
        return False
    if closing and _SAID.match(word):
        return False
    return mark != "." or not _abbreviates(text, stop.start(), start, word)


def _ends_without_space(text: str, stop: re.Match[str], word: str) -> bool:
    """Says whether Korean goes on after a stop without a space, as it is often typed."""
    return (
        not stop["closing"]
        and text[stop.start() - 1] in _KOREAN_ENDINGS
        and "가" <= word[:1] <= "힣"
        and not _SAID.match(word)
    )


def _abbreviates(text: str, dot: int, start: int, following: str) -> bool:
    """Says whether the dot belongs to the word or number before it."""
    before = text[max(start, dot - _BEFORE) : dot]
    found = _LAST_WORD.search(before)
    word = found[0] if found else ""
    if len(before) < _BEFORE and _NUMBERING.fullmatch(before):
        return True
    if word.isdigit() and following[:1].isdigit():
        return True
    if word in _TITLES or word.lower() in _NEVER_LAST:
        return True
    if "가" <= following[:1] <= "힣":
        return bool(_DATE.search(before)) or bool("." in word and _INITIALS.fullmatch(word))
    if word.lower() in _BEFORE_NUMBERS and following[:1].isdigit():
        return True
    if word.lower() in ("a.m", "p.m"):
        return False
    opens = following.lower() in _FIRST_WORDS
    return not opens and (word in _SELDOM_LAST or bool(_INITIALS.fullmatch(word)))
