import json
from typing import Any

import pytest

from rag.loaders.errors import BrokenFile
from rag.loaders.ipynb import read_ipynb
from rag.records import ExtractedText


def _read(*cells: dict[str, Any]) -> ExtractedText:
    return read_ipynb(json.dumps({"nbformat": 4, "cells": cells}).encode(), "stem")


def _code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": [source], "outputs": outputs}


def test_texts_with_headings_code_and_what_it_printed() -> None:
    document = _read(
        {"cell_type": "markdown", "source": ["# 기온\n", "관측값입니다.\n", "## 평균"]},
        _code("# no heading\nprint(3.5)", {"output_type": "stream", "text": ["3.5\n"]}),
    )

    assert document.text == "기온\n\n관측값입니다.\n\n평균\n\n# no heading\nprint(3.5)\n\n3.5"
    assert document.title == "기온"
    assert [s.heading for s in document.sections] == [("기온",), ("기온", "평균")]
    assert document.media_type == "application/x-ipynb+json"


def test_pictures_are_left_out() -> None:
    picture = "iVBORw0KGgo" * 20
    document = _read(
        {"cell_type": "markdown", "source": f"Map ![m](data:image/png;base64,{picture}) here"},
        _code(
            "plot()",
            {
                "output_type": "display_data",
                "data": {"image/png": picture, "text/plain": ["<Figure>"]},
            },
        ),
        _code(
            "draw()", {"output_type": "display_data", "data": {"image/svg+xml": "<svg>ghost</svg>"}}
        ),
    )

    assert picture[:33] not in document.text
    assert "Map" in document.text
    assert "here" in document.text
    assert "<Figure>" in document.text
    assert "ghost" not in document.text


def test_errors_tables_and_terminal_colours() -> None:
    html = "<table><tr><th>Area<th>Fee</tr><tr><td>Isle<td>7300</tr></table>"
    document = _read(
        _code(
            "1/0",
            {
                "output_type": "error",
                "ename": "ZeroDivisionError",
                "evalue": "by zero",
                "traceback": ["\x1b[0;31mghost"],
            },
        ),
        _code("show()", {"output_type": "execute_result", "data": {"text/html": [html]}}),
        _code("log()", {"output_type": "stream", "text": "\x1b[32mgreen\x1b[0m"}),
    )

    assert document.text == (
        "1/0\n\nZeroDivisionError: by zero\n\nshow()\n\nArea: Isle | Fee: 7300\n\nlog()\n\ngreen"
    )


def test_a_long_output_is_cut_and_reported() -> None:
    document = _read(_code("train()", {"output_type": "stream", "text": "epoch " * 100_000}))

    assert len(document.text) < 5_000
    assert document.warnings == ("1 long output cut at 4,000 characters",)


def test_an_old_notebook_has_sheets() -> None:
    sheet = {
        "cells": [
            {"cell_type": "heading", "level": 2, "source": "Old"},
            {"cell_type": "code", "input": ["x = 1"]},
        ]
    }

    document = read_ipynb(json.dumps({"nbformat": 3, "worksheets": [sheet]}).encode(), "stem")

    assert document.text == "Old\n\nx = 1"


@pytest.mark.parametrize("data", [b"[1]", b'{"cells": 3}', b"no json", b"[" * 100_000])
def test_what_is_no_notebook_says_so(data: bytes) -> None:
    with pytest.raises(BrokenFile, match="damaged or no notebook"):
        read_ipynb(data, "stem")
