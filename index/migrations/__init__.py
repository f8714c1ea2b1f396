"""The history of the schema, applied when a catalogue is opened. It only goes forwards."""

HEAD = "0007"  # the newest revision in versions/, known without loading Alembic
