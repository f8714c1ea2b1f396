"""Plain text: as it stands, once its encoding is known."""

from rag.loaders.decoding import decode
from rag.records import ExtractedText


def read_text(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data)
    return ExtractedText(decoded.text, stem, "text/plain", warnings=decoded.warnings)
