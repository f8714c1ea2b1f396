"""Collections of documents, their chunks and vectors, and the log of changes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "collection",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(255), nullable=False, unique=True),
        sa.Column("uid", sa.String(32), nullable=False),
        sa.Column("model_name", sa.String(255), nullable=False),
        sa.Column("model_fingerprint", sa.String(128), nullable=False),
        sa.Column("dimensions", sa.Integer, nullable=False),
        sa.Column("fusion_weight", sa.Double, nullable=False),
        sqlite_autoincrement=True,
    )
    _create_document()
    _create_chunk()
    op.create_table(
        "vector",
        sa.Column("chunk_id", sa.Integer, _cascade("chunk"), primary_key=True),
        sa.Column("fingerprint", sa.String(128), primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "change",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("collection_id", sa.Integer, _cascade("collection"), nullable=False),
        sa.Column("chunk_id", sa.Integer, nullable=False, unique=True),
        sa.Column("op", sa.String(6), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_change_collection_id_seq", "change", ["collection_id", "seq"])


def _create_document() -> None:
    op.create_table(
        "document",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("collection_id", sa.Integer, _cascade("collection"), nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("media_type", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("warnings", sa.JSON, nullable=False),
        sa.Column("added", sa.String(32), nullable=False),
        sa.Column("text", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_document_collection_id_path", "document", ["collection_id", "path"], unique=True
    )
    op.create_index("ix_document_collection_id_sha256", "document", ["collection_id", "sha256"])


def _create_chunk() -> None:
    op.create_table(
        "chunk",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("document_id", sa.Integer, _cascade("document"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("end", sa.Integer, nullable=False),
        sa.Column("page", sa.Integer),
        sa.Column("heading", sa.JSON, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("text_sha256", sa.String(64), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_chunk_document_id_position", "chunk", ["document_id", "position"], unique=True
    )


def _cascade(table: str) -> sa.ForeignKey:
    return sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
