"""Chunks cut for a model, a change log with two sides, tags, dates and the layout of texts.

PostgreSQL alters its tables in place. SQLite copies them, and would begin to number anew: the
numbers that were given out before are noted and put back.
"""

import uuid
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_KEEPS_IDS = {"sqlite_autoincrement": True}


def upgrade() -> None:
    if _is_sqlite():
        given = {row.name: row.seq for row in _rows("SELECT name, seq FROM sqlite_sequence")}
        _copy_documents()
        _copy_chunks()
        for table in ("document", "chunk"):
            _number_on(table, given.get(table, 0))
    else:
        _alter_documents_and_chunks()
        _widen_ids()
    op.create_table(
        "tag",
        sa.Column("document_id", _ID, _cascade("document"), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
    )
    op.create_index(
        "uq_chunk_document_id_fingerprint_position",
        "chunk",
        ["document_id", "fingerprint", "position"],
        unique=True,
    )
    _give_changes_a_side()


def _copy_documents() -> None:
    with op.batch_alter_table("document", recreate="always", table_kwargs=_KEEPS_IDS) as document:
        # Before the text, so that it is read without the pages of a long one.
        document.add_column(sa.Column("modified", sa.String(32)), insert_before="text")
        document.add_column(sa.Column("layout", sa.JSON))


def _copy_chunks() -> None:
    op.drop_index("uq_chunk_document_id_position", "chunk")
    op.add_column("chunk", sa.Column("fingerprint", sa.String(128)))
    op.execute(_FINGERPRINTS)
    with op.batch_alter_table("chunk", recreate="always", table_kwargs=_KEEPS_IDS) as chunk:
        chunk.alter_column("fingerprint", existing_type=sa.String(128), nullable=False)


def _number_on(table: str, given: int) -> None:
    """Lets a copied table give out none of the ids again that the first one gave out."""
    connection = op.get_bind()
    known = {"name": table, "seq": given}
    connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name"), known)
    connection.execute(sa.text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), known)


def _alter_documents_and_chunks() -> None:
    op.add_column("document", sa.Column("modified", sa.String(32)))
    op.add_column("document", sa.Column("layout", sa.JSON))
    op.drop_index("uq_chunk_document_id_position", "chunk")
    op.add_column("chunk", sa.Column("fingerprint", sa.String(128)))
    op.execute(_FINGERPRINTS)
    op.alter_column("chunk", "fingerprint", nullable=False)


def _widen_ids() -> None:
    columns = {
        "collection": ("id",),
        "document": ("id", "collection_id"),
        "chunk": ("id", "document_id"),
        "vector": ("chunk_id",),
    }
    for table, names in columns.items():
        for name in names:
            op.alter_column(table, name, type_=sa.BigInteger)
        if "id" in names:
            op.execute(f"ALTER SEQUENCE {table}_id_seq AS bigint")


def _give_changes_a_side() -> None:
    op.drop_table("change")
    op.create_table(
        "change",
        sa.Column("seq", _ID, primary_key=True),
        sa.Column("collection_id", _ID, _cascade("collection"), nullable=False),
        sa.Column("chunk_id", _ID, nullable=False),
        sa.Column("side", sa.String(6), nullable=False),
        sa.Column("op", sa.String(6), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_change_chunk_id_side", "change", ["chunk_id", "side"], unique=True)
    op.create_index("ix_change_collection_id_side_seq", "change", ["collection_id", "side", "seq"])
    connection = op.get_bind()
    op.execute(
        "INSERT INTO change (collection_id, chunk_id, side, op) "
        "SELECT d.collection_id, k.id, 'text', 'upsert' FROM chunk AS k "
        "JOIN document AS d ON d.id = k.document_id ORDER BY k.id"
    )
    op.execute(
        "INSERT INTO change (collection_id, chunk_id, side, op) "
        "SELECT d.collection_id, k.id, 'vector', 'upsert' FROM chunk AS k "
        "JOIN document AS d ON d.id = k.document_id "
        "JOIN vector AS v ON v.chunk_id = k.id AND v.fingerprint = k.fingerprint ORDER BY k.id"
    )
    # The numbers of the log begin anew, so that no index that followed the old ones may go on.
    for (key,) in _rows("SELECT id FROM collection"):
        renewed = sa.text("UPDATE collection SET uid = :uid WHERE id = :id")
        connection.execute(renewed, {"uid": uuid.uuid4().hex, "id": key})


# Chunks that have lost their document get none; `attest verify` tells of them.
_FINGERPRINTS = (
    "UPDATE chunk SET fingerprint = coalesce((SELECT c.model_fingerprint FROM collection AS c "
    "JOIN document AS d ON d.collection_id = c.id WHERE d.id = chunk.document_id), '')"
)


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _rows(query: str) -> list[sa.Row[*tuple[Any, ...]]]:
    return list(op.get_bind().execute(sa.text(query)))


def _cascade(table: str) -> sa.ForeignKey:
    return sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
