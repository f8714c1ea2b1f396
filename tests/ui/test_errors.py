import logging

import pytest

from index.errors import StorageBusy, StorageError, UnknownCollection, UnknownDocument
from rag.errors import AttestError, ModelMissing, UsageError
from ui.errors import explained
from ui.locale import texts

EN = texts("en")


@pytest.mark.parametrize("error", [ModelMissing("pull it"), UnknownDocument("a.pdf")])
def test_what_was_raised_on_purpose_speaks_for_itself(error: Exception) -> None:
    assert explained(error, EN) == str(error)


@pytest.mark.parametrize("error", [UsageError("k (0) must be at least 1"), StorageBusy("it", 30)])
def test_a_korean_reader_is_told_what_it_is_about_before_the_message(error: Exception) -> None:
    told = explained(error, texts("ko"))
    assert told.endswith(f"({error})")
    assert told[0] > "가"


def test_no_error_of_ours_is_taken_for_an_accident() -> None:
    for kind in (*AttestError.__subclasses__(), *StorageError.__subclasses__()):
        error = kind.__new__(kind)
        Exception.__init__(error, "said")
        assert explained(error, EN) in ("said", EN("error.empty"))


def test_an_empty_library_is_told_in_the_readers_words() -> None:
    assert explained(UnknownCollection("default", []), texts("ko")) == texts("ko")("error.empty")


def test_anything_else_goes_to_the_log_and_not_to_the_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        assert explained(KeyError("/secret/path"), EN) == EN("error.unexpected")
    assert "/secret/path" in caplog.text
