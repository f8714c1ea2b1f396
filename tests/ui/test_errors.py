import logging

import pytest

from index.errors import UnknownCollection, UnknownDocument
from rag.errors import ModelMissing
from ui.errors import explained
from ui.locale import texts

EN = texts("en")


@pytest.mark.parametrize("error", [ModelMissing("pull it"), UnknownDocument("a.pdf")])
def test_what_was_raised_on_purpose_speaks_for_itself(error: Exception) -> None:
    assert explained(error, EN) == str(error)


def test_an_empty_library_is_told_in_the_readers_words() -> None:
    assert explained(UnknownCollection("default", []), texts("ko")) == texts("ko")("error.empty")


def test_anything_else_goes_to_the_log_and_not_to_the_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        assert explained(KeyError("/secret/path"), EN) == EN("error.unexpected")
    assert "/secret/path" in caplog.text
