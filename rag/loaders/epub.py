"""EPUB: the chapters in the order of the book, with the names that its contents give them."""

from rag.loaders.building import TextBuilder
from rag.loaders.epub_package import Package, read_package
from rag.loaders.epub_parts import Parts, open_parts
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.html import read_xhtml
from rag.loaders.titles import is_sensible
from rag.loaders.zip_names import DAMAGE
from rag.records import ExtractedText

_MEDIA_TYPE = "application/epub+zip"
_PAGES = frozenset(("application/xhtml+xml", "text/html", "application/xml", "text/xml"))


def read_epub(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is damaged, no book, or protected against copying."""
    try:
        with open_parts(data) as parts:
            package = read_package(parts)
            book = _Book(parts, package)
            book.read()
    except DAMAGE as error:
        raise BrokenFile("the file is damaged: it cannot be opened as an EPUB book") from error
    builder = book.builder
    title = package.title
    if not is_sensible(title):
        title = builder.sections[0].heading[0] if builder.sections else stem
    return builder.finish(title, _MEDIA_TYPE, book.warnings)


class _Book:
    """Reads chapters into a text."""

    def __init__(self, parts: Parts, package: Package) -> None:
        self.builder = TextBuilder()
        self._parts = parts
        self._package = package
        self._unread: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self._unread:
            return ()
        return (f"chapters that could not be read: {', '.join(self._unread)}",)

    def read(self) -> None:
        chapters = [item for item in self._package.spine if item.media_type in _PAGES]
        for item in chapters:
            try:
                page = read_xhtml(self._parts.read(item.path), "", named=False)
            except (KeyError, LoadError, *DAMAGE):
                self._unread.append(item.path)
                continue
            if page.text.strip():
                self._chapter(page, self._package.contents.get(item.path, ""))
        if chapters and len(self._unread) == len(chapters):
            raise BrokenFile(
                f"the file is damaged: none of its {len(chapters)} chapters is readable"
            )

    def _chapter(self, page: ExtractedText, name: str) -> None:
        self.builder.close_headings()
        heading = page.sections[0].heading[0] if page.sections else ""
        if not name and not heading and page.title != self._package.title:
            name = page.title
        if name and not _same(name, heading):
            self.builder.heading(1, name)
        self.builder.include(page)


def _same(name: str, heading: str) -> bool:
    """`1. Summer` in the contents is the chapter `Summer`."""
    name, heading = name.casefold(), heading.casefold()
    return bool(heading) and (name in heading or heading in name)
