"""Run by Alembic with the open connection that `index.database` hands over."""

from alembic import context

from index.schema import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
    transactional_ddl=True,  # a migration that is killed leaves the revision before it
)
with context.begin_transaction():
    context.run_migrations()
