"""What a collection has learned, as an archive holds it: an adapter, questions, judgements."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from sqlalchemy import Connection, insert, select

from index import history
from index.archive_fields import SHORT, Fields, brief
from index.errors import BadArchive
from index.records import Judgement, StoredAdapter, StoredCollection
from index.schema import JudgementRow, QuestionRow

_LARGEST = 1 << 27  # bytes of an adapter: those that are made have a few megabytes
_LONGEST = 1 << 20  # characters of a question
_HASH = 64
_QUESTION = ("text", "asked_at", "times")
_JUDGEMENT = ("kind", "document_sha256", "start", "end", "text_sha256", "at")


@dataclass(frozen=True, slots=True)
class ArchivedAdapter:
    fingerprint: str
    base: str
    kind: str
    made_at: str
    report: dict[str, Any]
    size: int  # bytes of its data

    @classmethod
    def of(cls, stored: StoredAdapter, *, history: bool) -> "ArchivedAdapter":
        """Its report quotes questions: without the history it stays behind."""
        return cls(
            fingerprint=stored.fingerprint,
            base=stored.base,
            kind=stored.kind,
            made_at=stored.made_at,
            report=stored.report if history else {},
            size=len(stored.data),
        )

    def values(self, data: bytes) -> dict[str, Any]:
        """As `index.adapters.add` takes them."""
        names = ("fingerprint", "base", "kind", "made_at", "report")
        return {name: getattr(self, name) for name in names} | {"data": data}


def read_adapter(value: object, model: str) -> ArchivedAdapter | None:
    if value is None:
        return None
    fields = Fields("an adapter of the manifest", value)
    adapter = ArchivedAdapter(
        fingerprint=fields.name("fingerprint", longest=128),
        base=fields.string("base", longest=128),
        kind=fields.name("kind", longest=16),
        made_at=fields.moment("made_at"),
        report=fields.optional_object("report") or {},
        size=fields.integer("size", most=_LARGEST),
    )
    if adapter.base != model:
        raise BadArchive(
            f"an adapter of the manifest is for the model {brief(adapter.base)}, its collection "
            f"has {brief(model)}"
        )
    return adapter


def questions(connection: Connection, collection: StoredCollection) -> Iterator[dict[str, Any]]:
    """In the order in which they were first asked, each with its judgements."""
    mine = QuestionRow.collection_id == collection.id
    rows = connection.execute(select(QuestionRow.__table__).where(mine).order_by(QuestionRow.id))
    for row in rows.all():
        judged = select(JudgementRow.__table__).where(JudgementRow.question_id == row.id)
        found = connection.execute(judged.order_by(JudgementRow.id))
        yield {name: getattr(row, name) for name in _QUESTION} | {
            "judgements": [{name: getattr(each, name) for name in _JUDGEMENT} for each in found]
        }


def insert_question(connection: Connection, question: dict[str, Any]) -> None:
    judgements = question.pop("judgements")
    made = insert(QuestionRow).values(question).returning(QuestionRow.id)
    key = connection.execute(made).scalar_one()
    if judgements:
        rows = [judgement | {"question_id": key} for judgement in judgements]
        connection.execute(insert(JudgementRow), rows)


def read_question(
    where: str, value: object, collection_id: int, known: Container[str]
) -> dict[str, Any]:
    """A question that is none of those whose hashes are known."""
    fields = Fields(where, value)
    question = history.values_of(
        collection_id,
        fields.name("text", longest=_LONGEST),
        fields.moment("asked_at"),
        fields.integer("times", least=1),
    )
    if question["sha256"] in known:
        raise BadArchive(f"{where} is a question that was there before")
    return question | {
        "judgements": [_judgement(where, each) for each in fields.list("judgements")]
    }


def _judgement(where: str, value: object) -> dict[str, Any]:
    fields = Fields(f"a judgement of {where}", value)
    kind = fields.string("kind", longest=SHORT)
    if kind not in get_args(Judgement):
        raise BadArchive(f"a judgement of {where} is of the kind {brief(kind)}")
    return {
        "kind": kind,
        "document_sha256": fields.name("document_sha256", longest=_HASH),
        "start": fields.integer("start"),
        "end": fields.integer("end"),
        "text_sha256": fields.name("text_sha256", longest=_HASH),
        "at": fields.moment("at"),
    }
