import pytest

from rag.repeats import gist_of, repeats

LETTER = "Dear member, the pool stays closed on Monday for cleaning, as every week of the year."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (LETTER, LETTER, True),
        (LETTER, LETTER.replace("Dear", "DEAR").replace(", ", ",\n"), True),
        (LETTER, LETTER + " Thanks.", True),
        (LETTER, LETTER.replace("Monday", "Friday").replace("pool", "sauna"), False),
        (LETTER + " The fee is 7300 won.", LETTER + " The fee is 7400 won.", False),
        ("QX-808 weighs 2 kg", "QX-809 weighs 2 kg", False),
        ("수영장은 월요일에 쉽니다", "수영장은 월요일에 쉽니다.", True),
        ("수영장은 월요일에 쉽니다", "도서관은 월요일에 쉽니다", False),
        ("", "", True),
    ],
)
def test_what_counts_as_a_repeat(one: str, other: str, same: bool) -> None:
    assert repeats(gist_of(one), gist_of(other)) is same
    assert repeats(gist_of(other), gist_of(one)) is same
