"""The marks of Markdown in a stored text, so that a reader sees the words without them.

For the eye alone: offsets stay those of the stored text, and nothing in it becomes a tag.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MEDIA_TYPE = "text/markdown"
_OPEN = 16  # emphases that may be open at once: signs that never close cost no time

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6}[ \t]+)[^\n]*?([ \t]+#+)?[ \t]*$")
_QUOTATION = re.compile(r"(?: {0,3}>[ \t]?)+")
_BULLET = re.compile(r"[ \t]*([-*+])(?=[ \t]+\S)")
# A thematic break, the underline of a heading, or what divides a table's head from its rows.
_RULE = re.compile(
    r" {0,3}(?:(?P<sign>[-*_])(?:[ \t]*(?P=sign)){2,}|=+"
    r"|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+)[ \t]*$"
)
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_PIPE = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<code>(?:(?!\n\s*\n)[\s\S])+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?P<bang>!?)\[(?P<label>[^\[\]\n]*)\](?P<address>\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
    r"(?:[ \t]+\"[^\"\n]*\")?\))"
    r"|(?P<run>\*+|_+|~~)|(?P<blank>\n[ \t]*\n)"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """`text[start:end]` is a mark, and this is shown in its place."""

    start: int
    end: int
    shown: str = ""


@dataclass(slots=True)
class _Opener:
    """A run of signs that may begin an emphasis; its end is used up first."""

    sign: str
    start: int
    end: int


def shown(text: str, start: int, end: int, marks: Sequence[Mark]) -> str:
    """`text[start:end]` as a reader sees it."""
    pieces, at = list[str](), start
    for mark in marks:
        if mark.start >= end:
            break
        if mark.end <= at:
            continue
        if mark.start >= start:
            pieces += [text[at : mark.start], mark.shown]
        at = min(mark.end, end)
    return "".join([*pieces, text[at:end]])


def marks_of(text: str, media_type: str) -> tuple[Mark, ...]:
    """The marks of a document's text, in order, without overlaps; none but in Markdown."""
    return _marks(text) if media_type == MEDIA_TYPE else ()


@lru_cache(maxsize=8)  # the documents of one answer
def _marks(text: str) -> tuple[Mark, ...]:
    found = list[Mark]()
    prose, at, fence = 0, 0, ""
    for line in text.splitlines(keepends=True):
        end, mark = at + len(line), _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            if not fence:
                found += _in_prose(text, prose, at)
            fence = "" if fence else mark[1]
            found.append(Mark(at, end))
            prose = end
        at = end
    if not fence:
        found += _in_prose(text, prose, at)
    return tuple(found)


def _in_prose(text: str, start: int, end: int) -> list[Mark]:
    """The marks of a stretch that is no code."""
    found = list[Mark]()
    for line in re.finditer(r"[^\n]*\n?", text[start:end]):
        found += _of_line(line[0].rstrip("\n"), start + line.start(), start + line.end())
    taken = {at for mark in found for at in range(mark.start, mark.end)}
    inline = _inline(text, start, end)
    found += [mark for mark in inline if mark.start not in taken and mark.end - 1 not in taken]
    return sorted(found, key=lambda mark: mark.start)


def _of_line(line: str, at: int, end: int) -> Iterator[Mark]:
    if quotation := _QUOTATION.match(line):
        yield Mark(at, at + quotation.end())
        line, at = line[quotation.end() :], at + quotation.end()
    if _RULE.match(line):
        yield Mark(at, end)
    elif heading := _HEADING.match(line):
        yield Mark(at, at + heading.end(1))
        if heading[2]:
            yield Mark(at + heading.start(2), at + len(line))
    elif bullet := _BULLET.match(line):
        yield Mark(at + bullet.start(1), at + bullet.end(1), "•")
    elif _ROW.match(line):
        pipes = [at + pipe.start() for pipe in _PIPE.finditer(line)]
        for pipe in pipes:
            yield Mark(pipe, pipe + 1, "" if pipe in (pipes[0], pipes[-1]) else "·")


def _inline(text: str, start: int, end: int) -> Iterator[Mark]:
    openers = list[_Opener]()
    at = start
    while found := _INLINE.search(text, at, end):
        at = found.end()
        if found["blank"]:
            openers.clear()
            at -= 1  # this line end may begin another blank line
        elif found["run"]:
            yield from _emphasis(text, found.start(), found.end(), openers)
        elif found["label"] is not None:
            yield Mark(found.start(), found.start("label"))
            yield Mark(found.end("label"), found.end())
            at = found.start("label") if found["label"] else found.end()
        elif found["ticks"]:
            yield Mark(found.start(), found.start("code"))
            yield Mark(found.end("code"), found.end())
        else:
            yield Mark(found.start(), found.start() + 1)


def _emphasis(text: str, start: int, end: int, openers: list[_Opener]) -> Iterator[Mark]:
    """The pairs that a run of signs closes; what is left of it may open others.

    Signs between two letters or digits are none: 2*3*4 and snake_case stay.
    """
    sign = text[start]
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    while start < end and not before.isspace() and not _joins(sign, after):
        opener = next((each for each in reversed(openers) if each.sign == sign), None)
        if opener is None:
            break
        n = min(end - start, opener.end - opener.start)
        yield Mark(opener.end - n, opener.end)
        yield Mark(start, start + n)
        opener.end -= n
        start += n
        del openers[openers.index(opener) + (opener.start < opener.end) :]
    if start < end and not after.isspace() and not _joins(sign, before):
        openers.append(_Opener(sign, start, end))
        del openers[:-_OPEN]


def _joins(sign: str, neighbour: str) -> bool:
    """Whether a sign beside this character stands within a word. Korean particles follow a star."""
    return neighbour.isalnum() and (sign == "_" or neighbour.isascii())
