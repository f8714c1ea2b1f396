"""Names of senders are no subjects, and a text that only looks like a header stays."""

from rag.senders import without_senders
from rag.topics import words_of


def test_who_wrote_a_message_is_left_out_and_what_it_is_about_stays() -> None:
    text = (
        "From: John Smith <js@example.com>\nTo: Mary Major\nSubject: Gasket prices\n"
        "Date: 3 May 2024\n\nOn 3 May 2024, Peter Piper wrote:\n> The gasket leaks.\n"
        "> Paula Poe <pp@example.com> writes:\n>> Seal it.\n"
    )
    words = {word.lower() for word in words_of(text)}
    assert {"gasket", "leaks", "prices", "seal"} <= words
    assert words.isdisjoint({"john", "smith", "mary", "major", "peter", "piper", "paula", "poe"})


def test_korean_headers_and_attributions_are_known() -> None:
    head = "보낸 사람: 홍길동\n받는 사람: 김영희\n제목: 회의실 예약\n\n"
    text = f"{head}홍길동님이 작성:\n> 예약했습니다"
    assert without_senders(text) == "제목: 회의실 예약\n\n> 예약했습니다"


def test_one_line_that_looks_like_a_header_is_of_the_text() -> None:
    text = "To: Busan\nThe train leaves at nine.\nThe author writes: trains are fine."
    assert without_senders(text) == text
