"""Puts a text together from blocks and remembers where its sections and pages begin."""

from rag.loaders.cleaning import clean, one_line
from rag.records import ExtractedText, Page, Section


class TextBuilder:
    """Collects blocks in reading order. Each is cleaned before its place is known, so that offsets
    hold in the finished text: a newline between two NFC blocks keeps the whole NFC."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.pages: list[Page] = []
        self.unreadable = 0  # characters replaced so far
        self._parts: list[str] = []
        self._length = 0
        self._path: list[tuple[int, str]] = []  # the open headings with their levels

    def add(self, block: str, *, apart: bool = True) -> int:
        """Appends a block and gives its offset; `apart` sets it off with a blank line."""
        block, unreadable = clean(block)
        self.unreadable += unreadable
        if self._length:
            gap = "\n\n" if apart else "\n"
            self._parts.append(gap)
            self._length += len(gap)
        start = self._length
        self._parts.append(block)
        self._length += len(block)
        return start

    def heading(self, level: int, title: str) -> int:
        """Appends a heading line, opens its section and gives its offset; level 0 is outermost."""
        title, unreadable = clean(one_line(title))
        self.unreadable += unreadable
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, title))
        start = self.add(title)
        self.sections.append(Section(start, tuple(name for _, name in self._path)))
        return start

    def include(self, document: ExtractedText) -> int:
        """Appends a whole document and gives its offset; its sections stand under the open one."""
        start = self.add(document.text.rstrip("\n"))
        path = tuple(name for _, name in self._path)
        begins_with_heading = document.sections and document.sections[0].start == 0
        # Else what stands before its first heading would count to the section before it.
        if self.sections and self.sections[-1].heading != path and not begins_with_heading:
            self.sections.append(Section(start, path))
        self.sections += [Section(start + s.start, path + s.heading) for s in document.sections]
        return start

    def close_headings(self) -> None:
        """Ends all sections: what is added next stands under no heading."""
        self._path = []

    def page(self, number: int, start: int) -> None:
        """Closes a page that began with the block at `start`."""
        self.pages.append(Page(number, start, self._length))

    @property
    def end(self) -> int:
        """The offset at which the text ends so far."""
        return self._length

    def finish(self, title: str, media_type: str, warnings: tuple[str, ...] = ()) -> ExtractedText:
        return ExtractedText(
            text="".join(self._parts),
            title=clean(one_line(title))[0],
            media_type=media_type,
            pages=tuple(self.pages),
            sections=tuple(self.sections),
            warnings=warnings,
        )
