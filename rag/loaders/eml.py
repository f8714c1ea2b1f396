"""Messages: the subject as title, who wrote to whom and when, the text, what is attached.

`.eml` holds one message, `.mbox` many; `.mhtml` is a saved web page in the same clothes.
"""

import re
from collections.abc import Callable, Iterator
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import warn_unreadable
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.html import read_page
from rag.loaders.mail_headers import charset, date_line, header, to_text
from rag.loaders.mail_parts import Part, content, parts
from rag.records import ExtractedText

ReadFile = Callable[[bytes, str], ExtractedText]  # from the content and the name of a file

_HEADERS = ("from", "to", "cc")
_MOST_FILES = 100  # attachments that are read
_MOST_BYTES = 100_000_000  # of all of them
_DEEPEST = 3  # messages inside messages
_BOX_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\d\d:\d\d[^\n]*\n")
_QUOTED_BOX_LINE = re.compile(rb"^>(>*From )", re.M)
# A file that begins like none of these is no message, whatever its suffix.
_FIRST_LINE = re.compile(rb"\A[\s\xef\xbb\xbf]*(?:>?From |[!-9;-~]+[ \t]*:)")


def read_eml(data: bytes, stem: str, *, read_file: ReadFile) -> ExtractedText:
    """Reads a message.

    Args:
        data: The message.
        stem: The title where it has no subject.
        read_file: Gives the text of an attachment or raises a LoadError.

    Raises:
        BrokenFile: It is no message, or all that it says is encrypted.
    """
    mail = _Mail(read_file)
    message = _parse(data)
    mail.read(message, depth=0)
    return mail.finish(header(message, "subject") or stem, "message/rfc822")


def read_mbox(data: bytes, stem: str, *, read_file: ReadFile) -> ExtractedText:
    """Reads a box of messages, each of them a section. Raises BrokenFile where it holds none."""
    mail = _Mail(read_file)
    marks = list(_BOX_LINE.finditer(data))
    if not marks:
        raise BrokenFile("the file holds no messages: none of its lines begins one with 'From '")
    ends = [mark.start() for mark in marks[1:]] + [len(data)]
    unread = 0
    for mark, end in zip(marks, ends, strict=True):
        try:
            source = _QUOTED_BOX_LINE.sub(rb"\1", data[mark.end() : end])
            mail.read(_parse(source), depth=0)
        except LoadError:
            unread += 1
    if unread:
        mail.warnings.append(f"{unread} of {len(marks)} messages could not be read")
    return mail.finish(stem, "application/mbox")


def read_mhtml(data: bytes, stem: str) -> ExtractedText:
    """Reads a saved page. Raises BrokenFile where the file holds none."""
    message = _parse(data)
    for part in message.walk():
        if part.get_content_type() == "text/html":
            page = read_page(
                to_text(content(part), charset(part)), header(message, "subject") or stem
            )
            return ExtractedText(page.text, page.title, "multipart/related", sections=page.sections)
    raise BrokenFile("the file holds no web page")


def _parse(data: bytes) -> Message:
    if not _FIRST_LINE.match(data):
        raise BrokenFile("the file is damaged or no message: it does not begin with headers")
    # The older policy keeps headers as they were sent; the newer one raises at broken ones.
    try:
        return BytesParser(policy=compat32).parsebytes(data.lstrip(b"\xef\xbb\xbf\r\n \t"))
    except RecursionError as error:
        raise BrokenFile("the parts of the message are nested too deep to be read") from error


class _Mail:
    """Reads messages into a text."""

    def __init__(self, read_file: ReadFile) -> None:
        self.warnings: list[str] = []
        self._builder = TextBuilder()
        self._read_file = read_file
        self._files_left = _MOST_FILES
        self._bytes_left = _MOST_BYTES
        self._unread: list[str] = []  # names of attachments

    def read(self, message: Message, *, depth: int) -> None:
        found = list(parts(message))
        if found and all(part.kind == "locked" for part in found):
            raise BrokenFile("the message is encrypted: save its decrypted text and add that")
        subject = header(message, "subject")
        if subject:
            self._builder.heading(2 * depth + 1, subject)
        for place, line in enumerate(_header_lines(message)):
            self._builder.add(line, apart=place == 0)
        for part in found:
            if part.text.strip():
                self._builder.add(part.text.strip("\n"))
        for part in found:
            if part.kind == "file":
                self._attachment(part, depth)
            elif part.kind == "message" and part.source is not None:
                self._message(part.source, depth)

    def finish(self, title: str, media_type: str) -> ExtractedText:
        warnings = [*self.warnings, *warn_unreadable(self._builder.unreadable)]
        if self._unread:
            warnings.append(f"attachments not read: {', '.join(dict.fromkeys(self._unread))}")
        return self._builder.finish(title, media_type, tuple(warnings))

    def _message(self, message: Message, depth: int) -> None:
        name = header(message, "subject") or "message"
        if depth >= _DEEPEST:
            self._unread.append(f"{name} (more than {_DEEPEST} messages inside each other)")
            return
        try:
            self.read(message, depth=depth + 1)
        except LoadError as error:
            self._unread.append(f"{name} ({error})")

    def _attachment(self, part: Part, depth: int) -> None:
        data = content(part.source) if part.source is not None else b""
        if part.name.lower().endswith(".eml") and _FIRST_LINE.match(data):
            self._message(_parse(data), depth)
            return
        self._files_left -= 1
        if self._files_left < 0 or len(data) > self._bytes_left:
            limit = f"at most {_MOST_FILES} files and {_MOST_BYTES:,} bytes are read"
            self._unread.append(f"{part.name} ({limit})")
            return
        self._bytes_left -= len(data)
        try:
            document = self._read_file(data, part.name)
        except LoadError:
            self._unread.append(part.name)
            return
        if document.text.strip():
            self._builder.heading(2 * depth + 2, part.name)
            self._builder.include(document)
            self.warnings += (f"{part.name}: {warning}" for warning in document.warnings)


def _header_lines(message: Message) -> Iterator[str]:
    for name in _HEADERS:
        value = header(message, name)
        if value:
            yield f"{name.capitalize()}: {value}"
    date = date_line(message)
    if date:
        yield f"Date: {date}"
