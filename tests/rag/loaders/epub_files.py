"""EPUB books made by hand."""

import io
import zipfile
from collections.abc import Mapping, Sequence

_CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def page(body: str, title: str = "") -> str:
    head = f"<title>{title}</title>" if title else "<title/>"
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml">'
        f'<head>{head}<script src="x.js"/></head><body>{body}</body></html>'
    )


def epub(
    chapters: Mapping[str, str],
    *,
    order: Sequence[str] = (),
    title: str = "섬의 사계",
    contents: str = "",
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """Packs chapters (file name and XHTML); `contents` is a navigation page, or an NCX map."""
    is_map = contents.startswith("<ncx")
    items = [
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(chapters)
    ]
    if is_map:
        items.append('<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>')
    elif contents:
        items.append(
            '<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        )
    names = list(chapters)
    spine = [f'<itemref idref="i{names.index(name)}"/>' for name in order or names]
    if contents and not is_map:
        spine.insert(0, '<itemref idref="n"/>')
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title></metadata><manifest>{''.join(items)}</manifest>"
        f"<spine>{''.join(spine)}</spine></package>"
    )
    parts = {"META-INF/container.xml": _CONTAINER, "OEBPS/book.opf": package, **(extra or {})}
    parts |= {f"OEBPS/{name}".replace("%20", " "): text for name, text in chapters.items() if text}
    if contents:
        parts["OEBPS/toc.ncx" if is_map else "OEBPS/nav.xhtml"] = contents
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, text in parts.items():
            archive.writestr(name, text, zipfile.ZIP_DEFLATED)
    return file.getvalue()
