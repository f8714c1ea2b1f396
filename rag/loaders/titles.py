"""Which title in a file's own properties is worth showing."""

import re

# What programs fill in by themselves.
_FILLED_IN = re.compile(
    r"(untitled|no title|title|document|new document|word document|powerpoint presentation"
    r"|제목 ?없음|무제|문서|새 ?문서|빈 문서|slide|presentation)[ _-]?\d*",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"microsoft (word|powerpoint|excel) - .*|.*[\\/].*[\\/].*"
    r"|\S.*\.(docx?|pdf|hwpx?|pptx?|xlsx?|odt|rtf|txt|html?|indd|tex|dvi|ps|qxd|md)",
    re.IGNORECASE,
)


def is_sensible(title: str) -> bool:
    """False for a title that a program filled in, that is a file's name, or that says nothing."""
    title = title.strip()
    if not any(c.isalpha() for c in title):
        return False
    return not (_FILLED_IN.fullmatch(title) or _FILE_NAME.fullmatch(title))
