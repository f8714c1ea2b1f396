"""The questions that were asked, what was thought of the passages, and what was learned of it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("collection", sa.Column("adapter_id", _ID))
    op.add_column(
        "collection", sa.Column("rerank_weight", sa.Double, nullable=False, server_default="0")
    )
    _create_question()
    _create_judgement()
    _create_adapter()


def _create_question() -> None:
    op.create_table(
        "question",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("collection_id", _ID, _cascade("collection"), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("language", sa.String(8), nullable=False),
        sa.Column("asked_at", sa.String(32), nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_question_collection_id_sha256", "question", ["collection_id", "sha256"], unique=True
    )


def _create_judgement() -> None:
    op.create_table(
        "judgement",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("question_id", _ID, _cascade("question"), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("document_sha256", sa.String(64), nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("end", sa.Integer, nullable=False),
        sa.Column("text_sha256", sa.String(64), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_judgement_question_id", "judgement", ["question_id"])


def _create_adapter() -> None:
    op.create_table(
        "adapter",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("collection_id", _ID, _cascade("collection"), nullable=False),
        sa.Column("fingerprint", sa.String(128), nullable=False),
        sa.Column("base", sa.String(128), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("report", sa.JSON, nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_adapter_collection_id", "adapter", ["collection_id"])


def _cascade(table: str) -> sa.ForeignKey:
    return sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
