"""Who wrote a message is no subject of it: headers of mail, and the lines that open a quotation."""

import re

_PEOPLE = r"from|to|cc|bcc|sender|reply-to|보낸 ?사람|받는 ?사람|참조|숨은 ?참조"
_OTHERS = r"subject|date|sent|message-id|organization|lines|newsgroups|제목|날짜|보낸 ?날짜"
# A header among others: a line "To: Busan" by itself is of the text.
_HEADER = re.compile(rf"[ \t>]*(?P<name>{_PEOPLE}|{_OTHERS})[ \t]*:.*", re.I)
_PERSON = re.compile(rf"[ \t>]*(?:{_PEOPLE})[ \t]*:.*", re.I)
_LEAST = 2  # headers in a row
# "On 3 May 2024, John Smith wrote:" and "John Smith <js@example.com> writes:", "홍길동님이 작성:"
_OPENS = re.compile(
    r"[ \t>|]*\S.{0,160}(?:\b(?:wrote|writes|write|scribbled)|님이?[ \t]*(?:쓴 글|작성|씀))"
    r"[ \t]*:[ \t-]*",
    re.I,
)


def without_senders(text: str) -> str:
    """The text without the headers that name people, and without lines of attribution."""
    lines = text.split("\n")
    kept = list[str]()
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _HEADER.fullmatch(lines[end]):
            end += 1
        if end - at >= _LEAST:
            kept += [line for line in lines[at:end] if not _PERSON.fullmatch(line)]
            at = end
            continue
        if not _OPENS.fullmatch(lines[at]):
            kept.append(lines[at])
        at += 1
    return "\n".join(kept)
