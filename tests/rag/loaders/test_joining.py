import pytest

from rag.loaders.joining import HYPHEN, Evidence, page_width, paragraphs


def _joined(lines: list[str], *, elsewhere: str = "") -> list[str]:
    evidence = Evidence.of([*lines, f"see {elsewhere} here"])
    return list(paragraphs(lines, evidence, full=page_width(lines, lines)))


FULL = "A line that is about as long as all the others of its page and then some "


@pytest.mark.parametrize(
    ("end", "start", "elsewhere", "joined"),
    [
        ("infor-", "mation", "", "information"),
        ("infor" + HYPHEN, "mation", "", "information"),
        ("well-", "known", "", "well-known"),
        ("long-", "term", "long-term", "long-term"),
        ("co-", "operate", "cooperate", "cooperate"),
        ("COVID-", "19", "", "COVID-19"),
        ("K-", "21", "", "K-21"),
        ("Anglo-", "Saxon", "", "Anglo-Saxon"),
    ],
)
def test_a_hyphen_goes_where_it_only_cuts_a_word(
    end: str, start: str, elsewhere: str, joined: str
) -> None:
    lines = [FULL + end, f"{start} went on."]

    assert _joined(lines, elsewhere=elsewhere) == [f"{FULL}{joined} went on."]


@pytest.mark.parametrize("number", ["12", "Page 3", "- 4 -", "5쪽", "6 / 9"])
def test_a_page_number_belongs_to_no_sentence(number: str) -> None:
    assert _joined([FULL + "cut in infor-", number]) == [FULL + "cut in infor-", number]


def test_a_dash_is_no_hyphen() -> None:
    assert _joined([FULL + "word -", "then more."]) == [f"{FULL}word - then more."]


KOREAN = "기상 관측소는 십 분마다 값을 보내고 밤에는 쉬며 아침에 다시 "


@pytest.mark.parametrize(
    ("end", "start", "elsewhere", "joined"),
    [
        ("보냅니", "다. 그리고", "", "보냅니다. 그리고"),
        ("엔지니", "어에게 갑니다", "담당 엔지니어에게 간다", "엔지니어에게 갑니다"),
        ("값을", "보냅니다", "", "값을 보냅니다"),
        ("도서관", "에서 만난다", "", "도서관에서 만난다"),
    ],
)
def test_a_korean_word_cut_by_a_line_end_is_whole_again(
    end: str, start: str, elsewhere: str, joined: str
) -> None:
    lines = [KOREAN + end, start]

    assert _joined(lines, elsewhere=elsewhere) == [KOREAN + joined]


def test_lines_that_keep_their_spaces_say_which_ends_cut() -> None:
    lines = [KOREAN + "값을 ", KOREAN + "값을 ", KOREAN + "자료", "실로 옮긴다"]

    (text,) = _joined(lines)

    assert text.endswith("자료실로 옮긴다")
    assert "값을 기상" in text


def test_a_short_line_ends_its_paragraph() -> None:
    assert _joined(["Heading", FULL + "and on", "to the end.", "New."]) == [
        "Heading",
        f"{FULL}and on to the end.",
        "New.",
    ]
