"""What a message asks for: each rule from both sides, what it is for and what it leaves alone."""

from datetime import date

import pytest

from rag.periods import Period
from rag.requests import Dated, Listing, Lookup, SmallTalk, Summary, understand

TODAY = date(2025, 5, 14)  # a Wednesday


def asked(message: str) -> object:
    return understand(message, TODAY)


@pytest.mark.parametrize(
    ("message", "manner"),
    [
        ("hello", "greeting"),
        ("Hi there!", "greeting"),
        ("Good morning", "greeting"),
        ("안녕하세요?", "greeting"),
        ("안녕", "greeting"),
        ("Thanks!", "thanks"),
        ("Great, thank you so much.", "thanks"),
        ("고마워", "thanks"),
        ("감사합니다~", "thanks"),
        ("Goodbye", "farewell"),
        ("안녕히 계세요", "farewell"),
        ("Who are you?", "self"),
        ("What can you do?", "self"),
        ("너는 누구야?", "self"),
        ("뭘 할 수 있어?", "self"),
    ],
)
def test_manners(message: str, manner: str) -> None:
    assert asked(message) == SmallTalk(manner)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "message",
    [
        "summarise this",
        "Summarize this document, please.",
        "Can you summarise it for me?",
        "Please sum up this page",
        "tl;dr",
        "Give me a short summary",
        "I'd like you to summarise this",
        "summary please",
        "요약해줘",
        "이 문서 요약해줘",
        "이 문서를 간단히 요약해 주세요.",
        "이거 요약 좀",
        "이 파일 내용 정리해줘",
    ],
)
def test_a_summary_of_what_is_looked_at(message: str) -> None:
    assert asked(message) == Summary()


@pytest.mark.parametrize(
    ("message", "of"),
    [
        ("Summarise the leave policy", "leave policy"),
        ("Could you please summarize “Remote work policy” for me?", "Remote work policy"),
        ("give me an overview of the QX-820 data sheet", "QX-820 data sheet"),
        ("A brief summary of our warranty terms, please", "warranty terms"),
        ("What are you up to? summarise", None),
        ("휴가 규정 요약해줘", "휴가 규정"),
        ("휴가 규정을 짧게 요약해 줄래?", "휴가 규정"),
        ("재택근무 지침의 내용을 요약해 주세요", "재택근무 지침"),
        ("영업 회의록 정리해줘", "영업 회의록"),
    ],
)
def test_a_summary_of_something_named(message: str, of: str | None) -> None:
    found = asked(message)
    if of is None:
        assert found == Lookup()
    else:
        assert found == Summary(of, "named")


def test_the_scope_and_length_of_a_summary() -> None:
    assert asked("summarise everything") == Summary(scope="everything")
    assert asked("Summarise all my documents") == Summary(scope="everything")
    assert asked("전체 문서 요약해줘") == Summary(scope="everything")
    assert asked("Summarise the handbook folder") == Summary("handbook", "folder")
    assert asked("korea 폴더 요약해줘") == Summary("korea", "folder")
    assert asked("Summarise this in 3 sentences.") == Summary(sentences=3)
    assert asked("이 문서 두 문장으로 요약해줘") == Summary(sentences=2)
    assert asked("휴가 규정을 3줄로 요약해줘") == Summary("휴가 규정", "named", 3)
    assert asked("summarise this in 900 sentences") != Summary(sentences=900)


def test_a_quoted_title_asks_for_that_document() -> None:
    assert asked("What is “Leave policy” about?") == Summary(
        "Leave policy", "named", None, None, True
    )
    assert asked("‘휴가 규정’에 대해 알려 주세요.") == Summary(
        "휴가 규정", "named", None, None, True
    )


@pytest.mark.parametrize(
    "message",
    [
        "Who writes the summary of an incident?",
        "What does the executive summary say about prices?",
        "Is there a summary of the incident?",
        "How do I summarise a field report?",
        "Where is the summary of the meeting kept?",
        "The summary of the report is due when?",
        "When must the summary be sent?",
        "Which summary statistics are used?",
        "Summarise? Who does that?",
        "What are the key points of contact?",
        "How much leave do I have? Give me the number.",
        "What is the overview tab for?",
        "요약본은 어디에 있나요?",
        "누가 회의록을 요약해 주나요?",
        "회의록은 며칠 안에 정리해야 하나요?",
        "요약 보고서는 언제까지 내야 해?",
        "보고서를 요약해 주는 담당자는?",
        "책상은 퇴근 전에 정리해야 합니까?",
        "휴가 규정에 대해 알려 주세요.",
    ],
)
def test_a_question_that_speaks_of_a_summary_is_a_question(message: str) -> None:
    assert asked(message) == Lookup()


@pytest.mark.parametrize(
    "message",
    [
        "What do you have?",
        "What's in the library?",
        "Which documents do you have?",
        "What files are there?",
        "List all documents",
        "show me the files",
        "Could you list my documents, please?",
        "어떤 문서가 있어?",
        "무슨 자료가 있나요?",
        "문서 목록 보여줘",
        "파일 리스트",
        "뭐가 있어?",
    ],
)
def test_what_there_is(message: str) -> None:
    assert asked(message) == Listing()


@pytest.mark.parametrize(
    ("message", "media"),
    [
        ("How many documents are there?", None),
        ("how many files do you have", None),
        ("How many PDFs are there?", "pdf"),
        ("How many PDF files have I added?", "pdf"),
        ("문서가 모두 몇 개야?", None),
        ("파일이 몇 개 있나요?", None),
        ("PDF 파일은 몇 개야?", "pdf"),
        ("문서 수는?", None),
    ],
)
def test_how_many_there_are(message: str, media: str | None) -> None:
    assert asked(message) == Listing(count=True, media=media)


@pytest.mark.parametrize(
    "message",
    [
        "How many documents do I need for a visa?",
        "How many files can I upload at once?",
        "List the documents that a new dealer hands in",
        "What do you have to do after hot work?",
        "What documents are needed for a repair?",
        "Which files are deleted after 30 days?",
        "How many minutes are there in a shift?",
        "Hello world programs: which language are they in?",
        "Thanks to whom was the outage found?",
        "What can you do with a broken sensor?",
        "Who are you supposed to call?",
        "어떤 문서가 필요한가요?",
        "교정 접수에 어떤 서류가 있어야 하나요?",
        "제출할 파일은 몇 개까지 가능한가요?",
        "안녕하세요, 휴가는 며칠인가요?",
        "감사 보고는 누구에게 하나요?",
    ],
)
def test_a_question_on_documents_in_general_is_a_question(message: str) -> None:
    assert asked(message) == Lookup()


APRIL = Period(date(2025, 4, 1), date(2025, 4, 30))


@pytest.mark.parametrize(
    ("message", "period", "kind"),
    [
        ("What did last month's minutes decide?", APRIL, "minutes"),
        ("Who was absent in the minutes of April 2025?", APRIL, "minutes"),
        ("What was decided in the minutes from last month?", APRIL, "minutes"),
        ("Who signed the April 2025 product board minutes?", APRIL, "minutes"),
        ("What do the reports since March say on icing?",
         Period(date(2025, 3, 1), date.max), "report"),
        ("What do documents before 2023 say of overtime?",
         Period(date.min, date(2022, 12, 31)), None),
        ("What do documents after 2023 say of overtime?",
         Period(date(2024, 1, 1), date.max), None),
        ("Who is named in yesterday's report?",
         Period(date(2025, 5, 13), date(2025, 5, 13)), "report"),
        ("What is new in files from the last 10 days?",
         Period(date(2025, 5, 4), TODAY), None),
        ("지난달 회의록에서 무엇을 결정했어?", APRIL, "회의록"),
        ("2025년 4월 영업 회의록에서 결정된 것은?", APRIL, "회의록"),
        ("작년 보고서에서 가장 큰 문제는?",
         Period(date(2024, 1, 1), date(2024, 12, 31)), "보고서"),
        ("3월 이후에 추가한 문서에서 가격은?", Period(date(2025, 3, 1), date.max), None),
        ("지난주에 올린 파일에 가격이 있어?", Period(date(2025, 5, 5), date(2025, 5, 11)), None),
        ("12월 회의록에 누가 왔어?", Period(date(2024, 12, 1), date(2024, 12, 31)), "회의록"),
    ],
)  # fmt: skip
def test_a_question_on_documents_of_some_days(
    message: str, period: Period, kind: str | None
) -> None:
    assert asked(message) == Lookup(Dated(period, kind))


@pytest.mark.parametrize(
    "message",
    [
        "What happened last month?",
        "How many people were hired in 2023?",
        "Must a report be filed in the last 30 minutes of a shift?",
        "How long may a report take?",
        "Is a report due by the end of the month?",
        "In March, how many hours are worked?",
        "May documents leave the building?",
        "Since when is smoking forbidden?",
        "지난달 매출은 얼마야?",
        "2023년에 몇 명을 뽑았어?",
        "회의록은 언제까지 써야 해?",
        "보고서는 3월까지 내야 하나요?",
    ],
)
def test_a_day_that_is_not_a_documents_narrows_nothing(message: str) -> None:
    assert asked(message) == Lookup()


@pytest.mark.parametrize(
    ("message", "period", "kind"),
    [
        ("last month's minutes", APRIL, "minutes"),
        ("minutes since March", Period(date(2025, 3, 1), date.max), "minutes"),
        ("Show me all reports from 2024", Period(date(2024, 1, 1), date(2024, 12, 31)), "report"),
        ("Which documents were added this week?",
         Period(date(2025, 5, 12), date(2025, 5, 18)), None),
        ("지난달 회의록", APRIL, "회의록"),
        ("지난달 회의록 보여줘", APRIL, "회의록"),
        ("올해 보고서 목록 알려줘", Period(date(2025, 1, 1), date(2025, 12, 31)), "보고서"),
    ],
)  # fmt: skip
def test_a_list_of_documents_of_some_days(message: str, period: Period, kind: str | None) -> None:
    assert asked(message) == Listing(dated=Dated(period, kind))


def test_a_summary_of_documents_of_some_days() -> None:
    assert asked("Summarise last month's minutes") == Summary(
        "last month's minutes", "named", None, Dated(APRIL, "minutes")
    )
    assert asked("지난달 회의록 요약해줘") == Summary(
        "지난달 회의록", "named", None, Dated(APRIL, "회의록")
    )
