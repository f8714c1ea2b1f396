"""From when on a collection's questions are answered, as it was fitted to its own documents."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "calibration",
        sa.Column("id", _ID, primary_key=True),
        sa.Column(
            "collection_id",
            _ID,
            sa.ForeignKey("collection.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("encoder", sa.String(128), nullable=False),
        sa.Column("generator", sa.String(128), nullable=False),
        sa.Column("fitted", sa.JSON, nullable=False),
        sa.Column("made_at", sa.String(32), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_calibration_collection_id_encoder_generator",
        "calibration",
        ["collection_id", "encoder", "generator"],
        unique=True,
    )
