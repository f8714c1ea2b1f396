"""Whatever a message asks for comes back as one kind of record, from Python, terminal and HTTP."""

import io
import json
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from index.records import StoredDocument
from rag import Answer, Assistant, catalogue, sayings
from rag.api import create_app
from rag.asking import with_others
from rag.crossing import is_mostly_korean
from rag.errors import NotFound, UsageError
from rag.periods import Period
from rag.records import EVERYWHERE, Exchange, Within
from rag.requests import Dated

TODAY = date(2025, 5, 14)


@pytest.fixture
def dated(library: Assistant, tmp_path: Path) -> Assistant:
    """The shelf, minutes of two months, and a note last written in May 2025."""
    folder = tmp_path / "office"
    folder.mkdir()
    texts = {
        "minutes-2025-03.txt": "The board met. The colour of the gate was set to red by the board.",
        "minutes-2025-04.txt": "The board met. The colour of the gate was set to green by all.",
        "note.txt": "The caterer comes on Friday with soup for everybody in the workshop.",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    moment = datetime(2025, 5, 13, 12).timestamp()
    os.utime(folder / "note.txt", (moment, moment))
    library.add(folder)
    return library


def names(given: Answer) -> set[str]:
    return {Path(hit.chunk.document.path).name for hit in given.passages}


def ask(attest: Assistant, message: str, **more: Any) -> Answer:
    return attest.ask(message, mode="extract", today=TODAY, **more)


def test_manners_get_a_short_honest_line(attest: Assistant) -> None:
    for message, said in (("hello", "Hello."), ("고마워", "도움이 되었다니")):
        given = ask(attest, message)
        assert given.answer.startswith(said)
        assert (given.kind, given.citations, given.abstained) == ("smalltalk", (), False)


def test_what_there_is_comes_from_the_catalogue(dated: Assistant) -> None:
    given = ask(dated, "What do you have?")
    assert given.kind == "catalog"
    assert given.answer.startswith("The library holds 6 documents:\n- ")
    assert "Warranty (warranty.md)" in given.answer
    assert ask(dated, "문서가 모두 몇 개야?").answer.startswith("문서함에 문서가 6건 있습니다.")
    counted = ask(dated, "How many files are there?").answer
    assert counted == "The library holds 6 documents.\nBy format: TXT 4, MD 2."
    within = Within(paths=("office/*",))
    assert ask(dated, "How many documents?", within=within).answer.startswith("The library holds 3")


def test_an_empty_library_holds_none(attest: Assistant) -> None:
    assert ask(attest, "What do you have?").answer == "The library holds no documents."
    assert ask(attest, "summarise everything").abstained


def test_files_that_could_not_be_read_are_counted_apart(library: Assistant, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing more")
    library.add(tmp_path / "broken.pdf")
    given = ask(library, "How many documents are there?").answer
    assert given.startswith("The library holds 3 documents.")
    assert "1 more file was added that could not be read." in given


def test_a_list_of_days_by_name_and_by_the_files_time(dated: Assistant) -> None:
    assert ask(dated, "last month's minutes").answer == (
        "The library holds 1 document called minutes dated 2025-04:\n- minutes-2025-04, 2025-04"
    )
    assert "minutes-2025-03" in ask(dated, "minutes since March").answer
    assert ask(dated, "documents from yesterday").answer.endswith("- note, 2025-05-13")
    assert "없습니다" in ask(dated, "작년 보고서 목록").answer


def test_a_question_on_minutes_of_a_month_looks_into_these_alone(dated: Assistant) -> None:
    question = "What colour did last month's minutes set the gate to?"
    given = ask(dated, question)
    assert names(given) == {"minutes-2025-04.txt"}
    assert any("Looked only into documents dated 2025-04" in note for note in given.notes)
    assert "green" in given.answer
    unnarrowed = ask(dated, "What colour was the gate set to by the board?")
    assert {"minutes-2025-03.txt", "minutes-2025-04.txt"} <= names(unnarrowed)


def test_where_no_document_is_of_these_days_all_are_searched(dated: Assistant) -> None:
    given = ask(dated, "What colour do the reports from 1999 set the gate to?")
    assert any("No such document is dated 1999" in note for note in given.notes)
    assert len(names(given)) > 1


def test_the_chosen_documents_bound_a_date(dated: Assistant) -> None:
    within = Within(documents=("warranty.md",))
    given = ask(dated, "What do the minutes of April 2025 say of the gate?", within=within)
    assert names(given) <= {"warranty.md"}


def test_a_follow_up_is_looked_for_whole(dated: Assistant) -> None:
    first = ask(dated, "How long does the warranty of the lamp last?")
    then = ask(dated, "and for batteries?", earlier=[Exchange.of(first)])
    assert first.query is None
    assert then.question == "and for batteries?"
    assert then.query == "How long does the warranty of the lamp last for batteries?"
    assert dated.history()[0].text == then.query


def test_small_talk_between_is_no_subject(dated: Assistant) -> None:
    earlier = [Exchange("How long does the warranty last?"), Exchange("thanks")]
    assert ask(dated, "for batteries?", earlier=earlier).query == (
        "How long does the warranty last for batteries?"
    )


def test_what_is_wrong_is_raised_at_once(library: Assistant) -> None:
    with pytest.raises(UsageError, match="empty"):
        library.stream("  ")


def test_where_nothing_answers_the_other_language_is_looked_through(dated: Assistant) -> None:
    def led(question: str, within: Within = EVERYWHERE) -> Answer:
        declined = sayings.said(question, "Nothing.", "lookup", abstained=True)
        *_, last = with_others(dated, declined, question, within, None)
        assert isinstance(last, Answer)
        assert last.abstained
        return last

    english = led("How many days of leave are there?")
    assert names(english) == {"휴가.md"}
    assert english.notes == ("Nearest in documents of the other language: 휴가 규정",)
    korean = led("문은 무슨 색인가?")
    assert len(korean.passages) == 3
    assert "휴가.md" not in names(korean)
    scores = [hit.score for hit in korean.passages]
    assert scores == sorted(scores, reverse=True)
    assert "다른 언어" in korean.notes[0]
    assert led("Leave?", Within(documents=("hours.txt",))).notes == ()


@pytest.mark.parametrize(
    ("text", "korean"),
    [
        ("QX-820 센서는 FieldLark 소프트웨어로 설정한다.", True),
        ("The office is in 대전, Korea, and opens at nine.", False),
        ("12.5 %", False),
    ],
)
def test_the_language_of_a_passage(text: str, korean: bool) -> None:
    assert is_mostly_korean(text) is korean


@pytest.fixture
def client(dated: Assistant) -> Iterator[TestClient]:
    with TestClient(
        create_app(dated), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as opened:
        yield opened


def test_earlier_messages_complete_the_last_over_http(client: TestClient) -> None:
    turns = [("user", "How long does the warranty last?"), ("assistant", "24 months."),
             ("user", "for batteries?")]  # fmt: skip
    messages = [{"role": role, "content": content} for role, content in turns]
    body = client.post(
        "/v1/chat/completions", json={"messages": messages, "mode": "extract"}
    ).json()
    assert body["query"] == "How long does the warranty last for batteries?"
    assert body["kind"] == "lookup"


@pytest.mark.parametrize("message", ["hello", "What do you have?", "Summarise everything"])
def test_every_kind_streams(client: TestClient, message: str) -> None:
    body = {"messages": [{"role": "user", "content": message}], "stream": True}
    lines = client.post("/v1/chat/completions", json=body).text.splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
    assert text
    assert events[-1]["kind"] in ("smalltalk", "catalog", "summary")
    assert events[-1]["choices"][0]["finish_reason"] == "stop"


def test_chat_keeps_the_conversation(
    run: Callable[..., Any], dated: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("How long is the warranty?\nfor batteries?\n\n"))
    ran = run("chat", "--mode", "extract")
    assert ran.code == 0
    assert "(looked for: How long is the warranty for batteries?)" in ran.out


def test_a_long_answer_never_takes_the_whole_context(library: Assistant) -> None:
    from rag import prompts
    from rag.remote import RemoteWriter

    writer = RemoteWriter("http://127.0.0.1:1", "none")
    hits = library.search("warranty", k=2).hits
    from generator import Sampling

    notes: list[str] = []
    prompts.write("How long?", hits, writer, Sampling(max_tokens=100_000), 0, notes)
    assert notes == []  # no passage was pushed out by room for the answer


@pytest.mark.parametrize(
    ("title", "path", "modified", "period"),
    [
        ("Minutes of 24 April 2025", "a.docx", None, (date(2025, 4, 1), date(2025, 4, 30))),
        ("a", "/x/minutes-2025-04.txt", None, (date(2025, 4, 1), date(2025, 4, 30))),
        ("a", "/x/20250424_log.txt", None, (date(2025, 4, 24), date(2025, 4, 24))),
        ("a", "/2019/terms-2021.txt", None, (date(2021, 1, 1), date(2021, 12, 31))),
        ("영업 회의록: 2025년 4월", "a.md", None, (date(2025, 4, 1), date(2025, 4, 30))),
        ("QX-820120 sheet", "a.txt", "2025-05-13T12:00:00+00:00",
         (date(2025, 5, 13), date(2025, 5, 13))),
        ("a", "a.txt", None, None),
    ],
)  # fmt: skip
def test_the_days_of_a_document(
    title: str, path: str, modified: str | None, period: tuple[date, date] | None
) -> None:
    row = StoredDocument(
        1, path, title, "text/plain", "", 0, "indexed", None, (), 1, "", modified=modified
    )
    expected = None if period is None else Period(*period)
    assert catalogue.period_of_document(row) == expected


def test_kinds_go_by_what_documents_are_called_in_either_language() -> None:
    def row(key: int, name: str) -> StoredDocument:
        return StoredDocument(
            key, f"/x/{name}", name, "text/plain", "", 0, "indexed", None, (), 1, ""
        )

    rows = [
        row(1, "minutes-2025-04.txt"),
        row(2, "영업-회의록-2025-04.md"),
        row(3, "log-2025-04.md"),
    ]
    april = Period(date(2025, 4, 1), date(2025, 4, 30))
    for kind in ("minutes", "회의록"):
        assert [r.id for r in catalogue.of_days(rows, Dated(april, kind))] == [1, 2]
    assert len(catalogue.of_days(rows, Dated(april, None))) == 3


def test_names_and_folders_of_documents() -> None:
    def row(key: int, path: str, title: str) -> StoredDocument:
        return StoredDocument(key, path, title, "text/plain", "", 0, "indexed", None, (), 1, "")

    rows = [
        row(1, "/lib/handbook/leave-policy.md", "Leave policy, head office"),
        row(2, "/lib/handbook/remote.txt", "Remote work policy"),
        row(3, "C:\\lib\\korea\\휴가-규정.md", "휴가 규정"),
    ]
    assert [r.id for r in catalogue.named(rows, "leave policy")] == [1]
    assert [r.id for r in catalogue.named(rows, "policy")] == [1, 2]
    assert [r.id for r in catalogue.named(rows, "휴가 규정")] == [3]
    assert catalogue.named(rows, "the of") == []
    assert [r.id for r in catalogue.in_folder(rows, "Handbook")] == [1, 2]
    assert [r.id for r in catalogue.in_folder(rows, "lib/korea")] == [3]
    assert catalogue.in_folder(rows, "leave-policy.md") == []


def test_a_collection_that_is_not_there_is_an_error(library: Assistant) -> None:
    from index.errors import UnknownCollection

    with pytest.raises((UnknownCollection, NotFound)):
        library.ask("What do you have?", collection="nowhere")
