"""What files that are handed out have in common: no formulas in them, and never half of one."""

import os
from pathlib import Path

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(cell: str) -> str:
    """The cell of a CSV file; what a spreadsheet would take for a formula gets a leading quote."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def write_aside(file: Path, content: bytes) -> None:
    """Write a file under another name first: who opens it finds the old one or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        aside.write_bytes(content)
        os.replace(aside, file)
    finally:
        aside.unlink(missing_ok=True)
