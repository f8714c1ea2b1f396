"""OpenDocument files made in memory of the XML of their bodies."""

from tests.rag.loaders.package_files import package

_SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in [
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("svg", "svg-compatible"),
    ]
)


def odf(kind: str, body: str, *, title: str = "", manifest: str = "<m/>") -> bytes:
    """Packs a file of a kind: text, spreadsheet or presentation."""
    content = (
        f"<office:document-content {_SPACES}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    meta = f'<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></m>'
    return package(
        ("mimetype", f"application/vnd.oasis.opendocument.{kind}".encode()),
        ("content.xml", content.encode()),
        ("meta.xml", meta.encode()),
        ("META-INF/manifest.xml", manifest.encode()),
    )


def p(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def table(*rows: tuple[str, ...], name: str = "") -> str:
    written = "".join(
        f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows
    )
    return f'<table:table table:name="{name}">{written}</table:table>'


def cell(text: str, attributes: str = "") -> str:
    """Writes a cell; what is already an element stays as it is."""
    if text.startswith("<table:"):
        return text
    return f"<table:table-cell {attributes}>{p(text) if text else ''}</table:table-cell>"
