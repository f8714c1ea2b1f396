"""The tables. The database is the truth: whatever else lies in the home can be made from it.

    collection 1─n document 1─n chunk 1─n vector        change: which chunks came, moved or went
                   document 1─n tag
    collection 1─n question 1─n judgement               collection 1─n adapter
    collection 1─n conversation 1─n message             collection 1─n calibration
    collection 1─n evaluation
    api_key, page_password, page_session: who may come in from the network
    job: work in the background

Ids are never reused (AUTOINCREMENT), because derived indexes know chunks by id alone. Only column
types that PostgreSQL has as well.
"""

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    String,
    Text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

AnyRow = Row[*tuple[Any, ...]]
AnySelect = Select[*tuple[Any, ...]]

_SHA256 = String(64)  # hexadecimal
# Never used again, ids outgrow 32 bits. SQLite's integers have 64 by whatever name, but it numbers
# rows by itself only where a column is called INTEGER.
_ID = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    # Names are fixed, so that a later migration can address every constraint on any database.
    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        }
    )


class CollectionRow(Base):
    __tablename__ = "collection"
    __table_args__: Any = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    uid: Mapped[str] = mapped_column(String(32))
    model_name: Mapped[str] = mapped_column(String(255))
    model_fingerprint: Mapped[str] = mapped_column(String(128))
    dimensions: Mapped[int]
    fusion_weight: Mapped[float] = mapped_column(Double, default=0.5)
    adapter_id: Mapped[int | None] = mapped_column(_ID)  # a foreign key would close a circle
    rerank_weight: Mapped[float] = mapped_column(Double, default=0.0)


class DocumentRow(Base):
    __tablename__ = "document"
    __table_args__: Any = (
        Index("uq_document_collection_id_path", "collection_id", "path", unique=True),
        Index("ix_document_collection_id_sha256", "collection_id", "sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    path: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    media_type: Mapped[str] = mapped_column(String(255))
    sha256: Mapped[str] = mapped_column(_SHA256)
    size: Mapped[int] = mapped_column(BigInteger)  # bytes of the file
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(Text)
    warnings: Mapped[list[str]] = mapped_column(JSON)
    added: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC
    modified: Mapped[str | None] = mapped_column(String(32))  # of the file, likewise
    # Last, so that SQLite reads the other columns without the pages of a long text.
    text: Mapped[str | None] = mapped_column(Text)
    layout: Mapped[dict[str, Any] | None] = mapped_column(JSON)  # pages and sections of the text


class TagRow(Base):
    __tablename__ = "tag"

    document_id: Mapped[int] = mapped_column(
        _ID, ForeignKey("document.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(255), primary_key=True)


class ChunkRow(Base):
    """A part of a document, cut for the limit of one model.

    Only those of the collection's own model are searched. While a library moves to another model,
    the chunks of that one grow beside them.
    """

    __tablename__ = "chunk"
    __table_args__: Any = (
        Index(
            "uq_chunk_document_id_fingerprint_position",
            "document_id",
            "fingerprint",
            "position",
            unique=True,
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    document_id: Mapped[int] = mapped_column(_ID, ForeignKey("document.id", ondelete="CASCADE"))
    fingerprint: Mapped[str] = mapped_column(String(128))
    position: Mapped[int]  # 0-based, in reading order
    text: Mapped[str] = mapped_column(Text)
    start: Mapped[int]
    end: Mapped[int]
    page: Mapped[int | None]
    heading: Mapped[list[str]] = mapped_column(JSON)
    tokens: Mapped[int]
    text_sha256: Mapped[str] = mapped_column(_SHA256)  # of title, heading and text


class VectorRow(Base):
    __tablename__ = "vector"

    chunk_id: Mapped[int] = mapped_column(
        _ID, ForeignKey("chunk.id", ondelete="CASCADE"), primary_key=True
    )
    fingerprint: Mapped[str] = mapped_column(String(128), primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)  # little-endian float16


class ChangeRow(Base):
    """The last thing that happened to one side of a chunk. A later change replaces the earlier.

    A chunk's text may be there, and be found, before its vector is.
    """

    __tablename__ = "change"
    __table_args__: Any = (
        Index("uq_change_chunk_id_side", "chunk_id", "side", unique=True),
        Index("ix_change_collection_id_side_seq", "collection_id", "side", "seq"),
        {"sqlite_autoincrement": True},
    )

    seq: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    chunk_id: Mapped[int] = mapped_column(_ID)  # no foreign key: it outlives the chunk
    side: Mapped[str] = mapped_column(String(6))  # text | vector
    op: Mapped[str] = mapped_column(String(6))  # upsert | delete


class QuestionRow(Base):
    """A question that was asked, each once however often it was."""

    __tablename__ = "question"
    __table_args__: Any = (
        Index("uq_question_collection_id_sha256", "collection_id", "sha256", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    text: Mapped[str] = mapped_column(Text)  # as it was written first
    sha256: Mapped[str] = mapped_column(_SHA256)  # of the text without case and extra blanks
    language: Mapped[str] = mapped_column(String(8))
    asked_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC: the last time
    times: Mapped[int]


class JudgementRow(Base):
    """What somebody thought of a passage that was shown for a question.

    It names the passage by content and place, so that it survives another cut, another path and
    another database.
    """

    __tablename__ = "judgement"
    __table_args__: Any = (
        Index("ix_judgement_question_id", "question_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    question_id: Mapped[int] = mapped_column(_ID, ForeignKey("question.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(8))  # opened | up | down
    document_sha256: Mapped[str] = mapped_column(_SHA256)
    start: Mapped[int]
    end: Mapped[int]
    text_sha256: Mapped[str] = mapped_column(_SHA256)  # of title, heading and text, as in chunk
    at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC


class AdapterRow(Base):
    __tablename__ = "adapter"
    __table_args__: Any = (
        Index("ix_adapter_collection_id", "collection_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    fingerprint: Mapped[str] = mapped_column(String(128))
    base: Mapped[str] = mapped_column(String(128))  # fingerprint of the model it belongs on
    kind: Mapped[str] = mapped_column(String(16))
    report: Mapped[dict[str, Any]] = mapped_column(JSON)
    made_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC
    data: Mapped[bytes] = mapped_column(LargeBinary)  # last: megabytes


class CalibrationRow(Base):
    """What was fitted to a collection's documents, for one pair of models and no other."""

    __tablename__ = "calibration"
    __table_args__: Any = (
        Index(
            "uq_calibration_collection_id_encoder_generator",
            "collection_id",
            "encoder",
            "generator",
            unique=True,
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    encoder: Mapped[str] = mapped_column(String(128))  # fingerprint
    generator: Mapped[str] = mapped_column(String(128))  # fingerprint; "" where none took part
    fitted: Mapped[dict[str, Any]] = mapped_column(JSON)
    made_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC


class EvaluationRow(Base):
    """How well a collection was found to do: figures, and no word of a question."""

    __tablename__ = "evaluation"
    __table_args__: Any = (
        Index("ix_evaluation_collection_id", "collection_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))  # retrieval | answers
    figures: Mapped[dict[str, Any]] = mapped_column(JSON)
    made_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC


class ApiKeyRow(Base):
    """A key of the HTTP service. The key itself is shown once and kept nowhere."""

    __tablename__ = "api_key"
    __table_args__: Any = (
        Index("uq_api_key_sha256", "sha256", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    shown: Mapped[str] = mapped_column(String(16))  # how it begins, to be recognised by
    sha256: Mapped[str] = mapped_column(_SHA256)  # of the key: 256 random bits need no salt
    access: Mapped[str] = mapped_column(String(8))  # read | write
    collections: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))  # null: all
    made_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC, like the other times here
    used_at: Mapped[str | None] = mapped_column(String(32))
    revoked_at: Mapped[str | None] = mapped_column(String(32))


class PagePasswordRow(Base):
    """The password of the page; one row at most."""

    __tablename__ = "page_password"
    __table_args__: Any = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    hash: Mapped[str] = mapped_column(String(255))  # argon2id, with its parameters and salt
    made_at: Mapped[str] = mapped_column(String(32))


class PageSessionRow(Base):
    """A browser that gave the password."""

    __tablename__ = "page_session"
    __table_args__: Any = (
        Index("uq_page_session_sha256", "sha256", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    sha256: Mapped[str] = mapped_column(_SHA256)  # of the cookie
    made_at: Mapped[str] = mapped_column(String(32))
    expires_at: Mapped[str] = mapped_column(String(32))


class JobRow(Base):
    """Work that goes on after the request that began it, and after a restart."""

    __tablename__ = "job"
    __table_args__: Any = (Index("ix_job_status", "status"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    collection: Mapped[str] = mapped_column(String(255))  # by name: it may not be there yet
    arguments: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(16))  # waiting | running | done | failed | cancelled
    done: Mapped[int]
    total: Mapped[int | None]  # null while it is not known
    note: Mapped[str] = mapped_column(Text)  # what it is at, or why it failed
    attempts: Mapped[int]  # how often it was begun
    cancel: Mapped[bool] = mapped_column(Boolean)  # somebody wants it to end
    worker: Mapped[str | None] = mapped_column(String(64))  # which process runs it
    seen_at: Mapped[str | None] = mapped_column(String(32))  # when that one last said so
    made_at: Mapped[str] = mapped_column(String(32))
    started_at: Mapped[str | None] = mapped_column(String(32))
    ended_at: Mapped[str | None] = mapped_column(String(32))
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class ConversationRow(Base):
    __tablename__ = "conversation"
    __table_args__: Any = (
        Index("uq_conversation_uid", "uid", unique=True),
        Index("ix_conversation_collection_id_owner", "collection_id", "owner"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    collection_id: Mapped[int] = mapped_column(_ID, ForeignKey("collection.id", ondelete="CASCADE"))
    uid: Mapped[str] = mapped_column(String(32))  # how it is addressed from outside
    owner: Mapped[str] = mapped_column(String(64))  # whose browser; "" is the person at the machine
    title: Mapped[str] = mapped_column(Text)
    made_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC
    changed_at: Mapped[str] = mapped_column(String(32))  # likewise


class MessageRow(Base):
    """A question of a conversation and what came of it.

    The answer holds the sentences that it quotes, and of the passages only their places: what is
    removed from the library leaves no more behind than what was read out of it.
    """

    __tablename__ = "message"
    __table_args__: Any = (
        Index("ix_message_conversation_id", "conversation_id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(_ID, primary_key=True)
    conversation_id: Mapped[int] = mapped_column(
        _ID, ForeignKey("conversation.id", ondelete="CASCADE")
    )
    asked_at: Mapped[str] = mapped_column(String(32))  # ISO 8601, UTC
    state: Mapped[str] = mapped_column(String(8))  # stopped | answered | failed
    thumb: Mapped[str | None] = mapped_column(String(8))  # up | down
    note: Mapped[str] = mapped_column(Text)  # what was written beside the thumb
    question: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)  # of the answer, as far as it came; why it failed
    answer: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
