"""Conversations with the library, and what was thought of each answer."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_conversation()
    _create_message()


def _create_conversation() -> None:
    op.create_table(
        "conversation",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("collection_id", _ID, _cascade("collection"), nullable=False),
        sa.Column("uid", sa.String(32), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("changed_at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_conversation_uid", "conversation", ["uid"], unique=True)
    op.create_index(
        "ix_conversation_collection_id_owner", "conversation", ["collection_id", "owner"]
    )


def _create_message() -> None:
    op.create_table(
        "message",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("conversation_id", _ID, _cascade("conversation"), nullable=False),
        sa.Column("asked_at", sa.String(32), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("thumb", sa.String(8)),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("answer", sa.JSON),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_message_conversation_id", "message", ["conversation_id"])


def _cascade(table: str) -> sa.ForeignKey:
    return sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
