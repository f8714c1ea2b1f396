"""A conversation as a file, and an answer as it is pasted elsewhere, with its citations.

Markdown shows what stands in documents and answers literally: nothing in it becomes a link, a
picture or a tag where the file is shown.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from index.analysis import is_korean
from rag.conversations import Conversation, Message
from rag.kept_answers import packed
from rag.records import Answer, Citation

Json = dict[str, Any]

_SIGNS = re.compile(r"([\\`*_\[\]<>&|~$])")
_LINE_SIGNS = re.compile(r"^(\s*)([#>+=-]|\d+[.)])", re.MULTILINE)
_WORDS = {
    "sources": ("Sources", "출처"),
    "page": ("page {n}", "{n}쪽"),
    "stopped": ("(stopped before the end)", "(끝나기 전에 멈춤)"),
    "failed": ("(failed)", "(실패)"),
    "note": ("Note", "메모"),
    "up": ("helpful", "도움이 됨"),
    "down": ("not helpful", "도움이 안 됨"),
}


def as_json(conversation: Conversation) -> Json:
    """As programs read it; passages have their places and scores, and no text."""
    head = conversation.head
    return {
        "id": head.uid,
        "title": head.title,
        "collection": head.collection,
        "made": head.made_at,
        "changed": head.changed_at,
        "messages": [_message(each) for each in conversation.messages],
    }


def as_markdown(conversation: Conversation) -> str:
    """As people read it: a heading for each question, and below each answer its sources."""
    head = conversation.head
    parts = [f"# {plain(head.title)}", f"{plain(head.collection)} · {head.changed_at[:10]}"]
    for message in conversation.messages:
        parts += [f"## {plain(' '.join(message.question.split()))}", *_said(message)]
    return "\n\n".join(parts) + "\n"


def with_citations(answer: Answer) -> str:
    """The answer with numbers behind its sentences, and what the numbers stand for below it."""
    text = _numbered(answer)
    if not answer.citations:
        return text
    return f"{text}\n\n{_word('sources', answer.question)}\n" + "\n".join(_sources(answer))


def plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _LINE_SIGNS.sub(_escaped_line, _SIGNS.sub(r"\\\1", text))


def _escaped_line(found: re.Match[str]) -> str:
    sign = found[2]
    return f"{found[1]}{sign[:-1]}\\{sign[-1]}"


def _message(message: Message) -> Json:
    return {
        "id": message.id,
        "asked": message.asked_at,
        "state": message.state,
        "question": message.question,
        "text": message.text,
        "answer": None if message.answer is None else packed(message.answer),
        "thumb": message.thumb,
        "note": message.note,
    }


def _said(message: Message) -> Iterator[str]:
    if message.answer is None:
        if message.text.strip():
            yield plain(message.text)
        yield f"*{_word(message.state, message.question)}*"
    else:
        yield plain(_numbered(message.answer)).replace("\n", "\n\n")
        if message.answer.citations:
            yield "\n".join(f"- {plain(line)}" for line in _sources(message.answer))
    if message.thumb is not None:
        thumb = f"{_word('note', message.question)}: {_word(message.thumb, message.question)}"
        yield f"{thumb}. {plain(message.note)}" if message.note else thumb


def _numbered(answer: Answer) -> str:
    """The answer's text with [1] behind each sentence that has a source."""
    markers = defaultdict[int, list[int]](list)
    for citation in answer.citations:
        if citation.marker not in markers[citation.answer_end]:
            markers[citation.answer_end].append(citation.marker)
    pieces, at = list[str](), 0
    for end in sorted(markers):
        pieces.append(answer.answer[at:end])
        pieces.append(" " + "".join(f"[{marker}]" for marker in markers[end]))
        at = end
    return "".join([*pieces, answer.answer[at:]]).strip()


def _sources(answer: Answer) -> Iterator[str]:
    """A line for each number: the document, the page, and what was quoted of it."""
    quoted = defaultdict[int, list[Citation]](list)
    for citation in answer.citations:
        quoted[citation.marker].append(citation)
    for marker, citations in sorted(quoted.items()):
        first = citations[0]
        place = [first.document.title, re.split(r"[\\/]", first.document.path)[-1]]
        if first.page is not None:
            place.append(_word("page", answer.question).format(n=first.page))
        said = dict.fromkeys(" ".join(each.quote.split()) for each in citations)
        quotes = " ".join(f"“{quote}”" for quote in said)
        yield f"[{marker}] {', '.join(dict.fromkeys(place))}: {quotes}"


def _word(key: str, question: str) -> str:
    return _WORDS[key][is_korean(question)]
