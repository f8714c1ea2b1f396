"""What the product says by itself, in the language it is spoken to: no answer of the documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import PurePath

from index import StoredDocument
from index.analysis import is_korean
from rag.catalogue import period_of_document
from rag.records import Answer, AnswerKind
from rag.requests import Dated, Listing, Manner

_LISTED = 30  # documents named at most

_MANNERS: dict[Manner, tuple[str, str]] = {
    "greeting": (
        "Hello. Ask me something that stands in your documents.",
        "안녕하세요. 문서에 있는 내용을 물어보세요.",
    ),
    "thanks": ("You are welcome.", "도움이 되었다니 다행입니다."),
    "farewell": ("Goodbye.", "안녕히 가세요."),
    "self": (
        "I answer questions from the documents of this library and quote where each answer stands. "
        "I can also summarise a document (“summarise TITLE”) and list what there is (“what do you "
        "have?”). What your documents do not say, I do not know.",
        "이 문서함의 문서에서 답을 찾아 근거 문장을 인용합니다. 문서를 요약하거나(“제목 요약해줘”) "
        "어떤 문서가 있는지 알려 드릴 수도 있습니다. 문서에 없는 내용은 모릅니다.",
    ),
}


def said(
    message: str, text: str, kind: AnswerKind, notes: Sequence[str] = (), *, abstained: bool = False
) -> Iterator[str | Answer]:
    """What the product says by itself, as an answer."""
    yield text
    yield Answer(
        question=message,
        answer=text,
        mode="extract",
        abstained=abstained,
        confidence=None,
        citations=(),
        finish_reason="stop",
        unsupported=(),
        passages=(),
        notes=tuple(notes),
        timings_ms={},
        models={},
        kind=kind,
    )


def manners(manner: Manner, message: str) -> str:
    return _MANNERS[manner][is_korean(message)]


def listing(asked: Listing, rows: Sequence[StoredDocument], unread: int, message: str) -> str:
    """What documents there are, or how many.

    Args:
        asked: which of them, and whether only their number
        rows: these
        unread: files that could not be read, beside them
        message: whose language is spoken
    """
    korean = is_korean(message)
    lines = [_counted(rows, asked, korean)]
    if asked.count and asked.media is None:
        lines += _kinds(rows, korean)
    if unread:
        lines.append(_unread(unread, korean))
    if not asked.count:
        lines += [f"- {_titled(row, asked.dated)}" for row in rows[:_LISTED]]
        if len(rows) > _LISTED:
            more = len(rows) - _LISTED
            lines.append(f"외 {more}건" if korean else f"and {more} more")
    return "\n".join(lines)


def _counted(rows: Sequence[StoredDocument], asked: Listing, korean: bool) -> str:
    n, dated = len(rows), asked.dated
    kind = dated.kind if dated else None
    if korean:
        which = (
            f"{asked.media.upper()} 문서" if asked.media else f"‘{kind}’ 문서" if kind else "문서"
        )
        when = f" {_days(dated, korean)}" if dated else ""
        return f"문서함에{when} {which}가 {f'{n}건 있' if n else '없'}습니다."
    which = f"{asked.media.upper()} document" if asked.media else "document"
    which = f"{n or 'no'} {which}{'' if n == 1 else 's'}"
    which += (f" called {kind}" if kind else "") + (f" {_days(dated, korean)}" if dated else "")
    return f"The library holds {which}{'.' if asked.count or not n else ':'}"


def _days(dated: Dated, korean: bool) -> str:
    period = dated.period
    if period.last == date.max:
        return f"{period.first} 이후의" if korean else f"dated {period.first} or later"
    if period.first == date.min:
        return f"{period.last}까지의" if korean else f"dated {period.last} or earlier"
    return f"{period}의" if korean else f"dated {period}"


def _kinds(rows: Sequence[StoredDocument], korean: bool) -> list[str]:
    """By the endings of their files, where there are several."""
    counts = Counter(PurePath(row.path).suffix.lstrip(".").upper() or "?" for row in rows)
    if len(counts) < 2:
        return []
    listed = ", ".join(f"{kind} {n}" for kind, n in counts.most_common())
    return [f"{'형식별: ' if korean else 'By format: '}{listed}."]


def _unread(n: int, korean: bool) -> str:
    if korean:
        return f"읽지 못한 파일이 {n}개 더 있습니다."
    return f"{n} more file{' was' if n == 1 else 's were'} added that could not be read."


def _titled(row: StoredDocument, dated: Dated | None) -> str:
    name = PurePath(row.path).name
    title = row.title if row.title == PurePath(name).stem else f"{row.title} ({name})"
    period = period_of_document(row) if dated else None
    return f"{title}, {period}" if period else title


def which_document(message: str, known: bool) -> str:
    """That a summary needs to know of what."""
    if is_korean(message):
        return (
            "요약할 문서를 찾지 못했습니다. 제목을 적거나 문서를 선택해 주세요."
            if known
            else "어떤 문서를 요약할까요? 제목을 적거나 문서를 선택해 주세요."
        )
    if known:
        return "No document has that name: give its title as the library lists it, or choose it."
    return "Which document? Name its title, or choose documents first."


def summarised(n: int, message: str) -> str:
    """How a summary came about."""
    if is_korean(message):
        return f"문서 {n}건에서 핵심 문장을 그대로 뽑은 요약입니다."
    return f"A summary of {n} document{'' if n == 1 else 's'}: sentences quoted as they stand."


def narrowed(dated: Dated, rows: Sequence[StoredDocument], message: str) -> str:
    """Which documents alone were looked into, or that none is of these days."""
    titles = ", ".join(row.title for row in rows[:5]) + (", …" if len(rows) > 5 else "")
    korean = is_korean(message)
    days = _days(dated, korean)
    if korean:
        if not rows:
            return f"{days} 그런 문서가 없어 모든 문서에서 찾았습니다."
        return f"{days} 문서 {len(rows)}건에서만 찾았습니다: {titles}"
    if not rows:
        return f"No such document is {days}: all documents were searched."
    return f"Looked only into documents {days}: {titles}"


def elsewhere(documents: Sequence[StoredDocument], message: str) -> str:
    """That documents in the other language may hold what those in the question's do not."""
    titles = ", ".join(dict.fromkeys(row.title for row in documents))
    if is_korean(message):
        return f"다른 언어로 된 문서에서는 다음이 가장 가깝습니다: {titles}"
    return f"Nearest in documents of the other language: {titles}"
