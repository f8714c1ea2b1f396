"""Word files made in memory, with the parts that python-docx itself does not write."""

import io
import zipfile

from docx.document import Document


def saved(document: Document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def with_body(data: bytes, body: str) -> bytes:
    """Puts XML at the start of a document's body."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "word/document.xml":
                content = content.replace(b"<w:body>", b"<w:body>" + body.encode())
            new.writestr(name, content)
    return packed.getvalue()
