"""Who may use the service over the network, and the work that it does in the background."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_api_key()
    _create_password()
    _create_session()
    _create_job()


def _create_api_key() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("shown", sa.String(16), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("access", sa.String(8), nullable=False),
        sa.Column("collections", sa.JSON),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("used_at", sa.String(32)),
        sa.Column("revoked_at", sa.String(32)),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_api_key_sha256", "api_key", ["sha256"], unique=True)


def _create_password() -> None:
    op.create_table(
        "page_password",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("hash", sa.String(255), nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )


def _create_session() -> None:
    op.create_table(
        "page_session",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_page_session_sha256", "page_session", ["sha256"], unique=True)


def _create_job() -> None:
    op.create_table(
        "job",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("collection", sa.String(255), nullable=False),
        sa.Column("arguments", sa.JSON, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("cancel", sa.Boolean, nullable=False),
        sa.Column("worker", sa.String(64)),
        sa.Column("seen_at", sa.String(32)),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("started_at", sa.String(32)),
        sa.Column("ended_at", sa.String(32)),
        sa.Column("result", sa.JSON),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_status", "job", ["status"])
