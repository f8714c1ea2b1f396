import subprocess
import sys

import pytest

import index


def test_the_front_is_sorted_small_and_whole() -> None:
    assert index.__all__ == sorted(index.__all__)
    assert len(index.__all__) <= 10
    for name in index.__all__:
        assert getattr(index, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        _ = index.Other


def test_records_errors_and_analysis_are_light_to_import() -> None:
    heavy = "{'alembic', 'faiss', 'kiwipiepy', 'sqlalchemy', 'tantivy', 'torch'}"
    code = (
        "import sys, index, index.records, index.errors, index.analysis as a; a.tokens('light');"
        f"print({heavy} & set(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.strip() == "set()"
