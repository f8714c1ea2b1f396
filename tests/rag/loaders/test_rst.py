import time
from pathlib import Path

import pytest

from rag.loaders.rst import read_rst


def _text(source: str) -> str:
    return read_rst(source.encode(), "stem").text


def test_underlines_make_sections_by_the_order_in_which_they_appear() -> None:
    source = "안내\n====\n\nA\n\nDeep\n----\n\nB\n\nDeeper\n^^^^^^\n\nC\n\nNext\n====\n\nD\n"

    document = read_rst(source.encode(), "stem")

    assert document.title == "안내"
    assert document.media_type == "text/x-rst"
    places = [(s.heading, document.text[s.start :].split("\n")[0]) for s in document.sections]
    assert places == [
        (("안내",), "안내"),
        (("안내", "Deep"), "Deep"),
        (("안내", "Deep", "Deeper"), "Deeper"),
        (("Next",), "Next"),
    ]


def test_the_title_falls_back_on_the_stem() -> None:
    assert read_rst(b"Only words.", "stem").title == "stem"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "Some *words* in ``code`` and `a link <https://example.org>`_.",
            "Some words in code and a link.",
        ),
        ("See :ref:`the guide <guide>` and :func:`~shop.price`.", "See the guide and price."),
        (".. note:: Bring a coat.\n   It is cold.", "Note: Bring a coat. It is cold."),
        (".. versionadded:: 3.2", "Added in version 3.2"),
        (
            ".. function:: price(zone)\n   :noindex:\n\n   The fee of a *zone*.",
            "price(zone)\n\nThe fee of a zone.",
        ),
        ("Run::\n\n    make wash\n    make dry", "Run:\n\nmake wash\nmake dry"),
        (
            ".. code-block:: python\n   :linenos:\n\n   # no heading\n   x = 1",
            "# no heading\nx = 1",
        ),
        (".. figure:: map.png\n   :alt: A map\n\n   The way", "A map\n\nThe way"),
        ("|fee| a day\n\n.. |fee| replace:: 500 won", "500 won a day"),
        ("- one\n- two\n\n3. three\n4. four", "- one\n- two\n\n3. three\n4. four"),
        ("lamp\n    gives light", "lamp\ngives light"),
        (":Author: Kim\n:Date: 2026", "Author: Kim\nDate: 2026"),
        ("A [1]_\n\n.. [1] the note\n.. a comment\n", "A [1]\n\n[1] the note"),
        (
            "==== ====\nArea Fee\n==== ====\nIsle 7300\nTown 2900\n==== ====",
            "Area: Isle | Fee: 7300\nArea: Town | Fee: 2900",
        ),
        (
            ".. csv-table:: Fees\n   :header: Area, Fee\n\n   Isle, 7300",
            "Fees\nArea: Isle | Fee: 7300",
        ),
        ("| one\n| two", "one\ntwo"),
    ],
)
def test_markup_reads_as_on_the_page(source: str, text: str) -> None:
    assert _text(source) == text


def test_no_other_file_is_read_and_no_markup_of_another_language_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("salary", encoding="utf-8")
    source = (
        f"Text.\n\n.. include:: {secret}\n\n.. literalinclude:: {secret}\n\n"
        f".. csv-table::\n   :file: {secret}\n\n.. raw:: html\n   :file: {secret}\n\n"
        ".. raw:: html\n\n   <b>bold</b>\n\n.. toctree::\n\n   other\n"
    )

    assert _text(source) == "Text."


def test_odd_markup_stops_nothing() -> None:
    source = "A\n=\n\nx `unclosed\n\n- a\nb\n\n.. image::\n\nToo long\n==\n\n    odd\n  odder\n"

    text = _text(source)

    assert all(word in text for word in ("unclosed", "- a", "Too long", "odd", "odder"))


@pytest.mark.parametrize(
    "source", ["* " * 3000 + "deep", ".. x::\n\n" + "   .. x::\n\n" * 60 + "      deep"]
)
def test_deep_nesting_is_read_some_way(source: str) -> None:
    assert "deep" in _text(source)


def test_a_file_past_the_limit_is_plain_text() -> None:
    began = time.perf_counter()

    document = read_rst(b"word " * 250_000, "stem")

    assert document.text.startswith("word word")
    assert document.warnings == ("more than 1,000,000 characters: read as plain text",)
    assert time.perf_counter() - began < 5


def test_korean_from_an_old_editor() -> None:
    assert read_rst("제목\n====\n\n나비는 난다.\n".encode("cp949"), "stem").title == "제목"
