"""What a collection was measured at: figures of its last evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "evaluation",
        sa.Column("id", _ID, primary_key=True),
        sa.Column(
            "collection_id",
            _ID,
            sa.ForeignKey("collection.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("figures", sa.JSON, nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_evaluation_collection_id", "evaluation", ["collection_id"])
