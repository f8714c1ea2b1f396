"""From the tables of earlier versions, with rows in them, to those of today."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, inspect, text

import index.migrations
from index import Catalog, Collection
from index.codec import encode
from index.errors import IncompleteDatabase
from index.repair import repair
from index.schema import Base
from index.verify import verify
from tests.index.library import MODEL, document, vector_of, vectors_of

PASSAGES = ("the pump", "휴가는 15일")
TEXT = "\n".join(PASSAGES)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'attest.db'}"
    found: str = request.getfixturevalue("fresh_postgres_url")
    return found


@contextmanager
def _first_version(url: str, revision: str = "0001") -> Iterator[Connection]:
    engine = create_engine(url)
    with engine.begin() as connection:
        config = Config()
        folder = str(Path(index.migrations.__file__).parent)
        config.set_main_option("script_location", folder.replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        yield connection
    engine.dispose()


def _insert(connection: Connection, table: str, **values: object) -> None:
    names = ", ".join(f'"{name}"' for name in values)
    bound = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({bound})"), values)


def _insert_collection(connection: Connection) -> None:
    _insert(
        connection,
        "collection",
        name="default",
        uid="u" * 32,
        model_name=MODEL.name,
        model_fingerprint=MODEL.fingerprint,
        dimensions=MODEL.dimensions,
        fusion_weight=0.7,
    )


def _insert_document(connection: Connection, path: str, status: str, **more: object) -> None:
    values = {
        "collection_id": 1,
        "path": path,
        "title": "A title",
        "media_type": "text/plain",
        "sha256": "a" * 64,
        "size": 7,
        "status": status,
        "reason": None,
        "warnings": json.dumps(["경고"]),
        "added": "2024-05-31T00:00:00+00:00",
        "text": None,
    }
    _insert(connection, "document", **(values | more))


def _insert_chunk(connection: Connection, document_id: int, position: int, **more: object) -> None:
    passage = PASSAGES[position]
    start = TEXT.index(passage)
    _insert(
        connection,
        "chunk",
        document_id=document_id,
        position=position,
        text=passage,
        start=start,
        end=start + len(passage),
        page=1,
        heading=json.dumps(["제목"]),
        tokens=2,
        text_sha256="b" * 64,
        **more,
    )


def _insert_rows(connection: Connection) -> None:
    _insert_collection(connection)
    _insert_document(connection, "a.txt", "indexed", text=TEXT)
    _insert_document(connection, "b.txt", "duplicate", reason="same content as a.txt")
    for position in range(2):
        _insert_chunk(connection, 1, position)
        (data,) = encode(vector_of(PASSAGES[position])[None])
        key = position + 1
        _insert(connection, "vector", chunk_id=key, fingerprint=MODEL.fingerprint, data=data)
        _insert(connection, "change", collection_id=1, chunk_id=key, op="upsert")


def test_rows_of_the_first_version_are_kept(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url) as connection:
        _insert_rows(connection)
    with Catalog(tmp_path, empty_url) as catalog:
        stored = catalog.collection("default")
        assert (stored.model, stored.fusion_weight) == (MODEL, 0.7)
        assert stored.uid != "u" * 32  # the log is another one
        a, b = catalog.documents("default")
        assert (a.path, a.status, a.chunks, a.pending, a.warnings) == (
            "a.txt",
            "indexed",
            2,
            0,
            ("경고",),
        )
        assert (a.modified, a.tags) == (None, ())
        assert (b.status, b.reason) == ("duplicate", "same content as a.txt")
        assert catalog.text(b.id) == TEXT
        assert [chunk.heading for chunk in catalog.chunks_of(a.id)] == [("제목",), ("제목",)]
        collection = Collection.open(catalog, "default", MODEL)
        assert collection.lexical("휴가").ids.tolist() == [2]
        found = collection.dense(vector_of("the pump"), k=1)
        assert found.ids.tolist() == [1]
        assert found.scores[0] == pytest.approx(1, abs=1e-3)
        assert verify(catalog).problems == ()


def test_the_tables_are_those_of_the_models(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url):
        pass
    with Catalog(tmp_path, empty_url) as catalog, catalog.database.reading() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
        columns = [column["name"] for column in inspect(connection).get_columns("document")]
        if connection.dialect.name == "sqlite":
            assert columns[-2:] == ["text", "layout"]  # what is long comes last


def test_ids_that_were_given_out_are_not_given_out_again(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url) as connection:
        _insert_rows(connection)
        connection.execute(text("DELETE FROM vector WHERE chunk_id = 2"))
        connection.execute(text("DELETE FROM chunk WHERE id = 2"))
        connection.execute(text("DELETE FROM document WHERE id = 2"))
    with Catalog(tmp_path, empty_url) as catalog:
        new = document("c.txt", "the crane")
        key = catalog.add("default", new, vectors_of(new), MODEL.fingerprint).id
        assert key == 3
        assert catalog.chunk_ids(key) == [3]
        other = catalog.create("other", MODEL)
        assert other.id == 2


def test_numbers_beyond_32_bits_are_given_out(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url) as connection:
        _insert_rows(connection)
    with Catalog(tmp_path, empty_url) as catalog:
        beyond = 2**31 + 7
        with catalog.database.writing() as connection:
            names = {"document": "id", "chunk": "id", "change": "seq"}
            for table, column in names.items():
                if connection.dialect.name == "sqlite":
                    again = f"UPDATE sqlite_sequence SET seq = {beyond} WHERE name = '{table}'"
                else:
                    again = f"ALTER SEQUENCE {table}_{column}_seq RESTART WITH {beyond + 1}"
                connection.execute(text(again))
        collection = Collection.open(catalog, "default", MODEL)
        new = document("c.txt", "the crane")
        key = collection.add(new, vectors_of(new)).id
        catalog.tag(key, add=["law"])
        assert key == beyond + 1
        assert collection.lexical("crane").ids.tolist() == [beyond + 1]
        assert np.array_equal(collection.dense(vector_of("the crane"), k=1).ids, [beyond + 1])
        assert verify(catalog).problems == ()


def test_rows_that_had_lost_their_document_do_not_keep_a_home_shut(tmp_path: Path) -> None:
    with _first_version(f"sqlite:///{tmp_path / 'attest.db'}") as connection:
        _insert_rows(connection)
        _insert_chunk(connection, 77, 0)  # SQLite minds only where it is told to
    with Catalog(tmp_path) as catalog:
        kinds = {problem.kind for problem in verify(catalog).problems}
        assert kinds == {"orphans", "database"}
        assert repair(catalog).problems == ()
        assert catalog.counts("default").chunks == 2


def test_a_library_of_the_second_version_learns(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url, "0002") as connection:
        _insert_collection(connection)
        _insert_document(connection, "a.txt", "indexed", text=TEXT, modified=None, layout="{}")
        _insert_chunk(connection, 1, 0, fingerprint=MODEL.fingerprint)
        (data,) = encode(vector_of(PASSAGES[0])[None])
        _insert(connection, "vector", chunk_id=1, fingerprint=MODEL.fingerprint, data=data)
        for side in ("text", "vector"):
            _insert(connection, "change", collection_id=1, chunk_id=1, side=side, op="upsert")
    with Catalog(tmp_path, empty_url) as catalog:
        stored = catalog.collection("default")
        assert (stored.uid, stored.fusion_weight) == ("u" * 32, 0.7)  # the log goes on
        assert (stored.adapter_id, stored.rerank_weight) == (None, 0.0)
        assert catalog.asked("default") == ()
        catalog.judge("default", "which pump?", 1, "up")
        assert catalog.asked("default")[0].up == (1,)
        assert verify(catalog).problems == ()


def test_a_library_of_the_third_version_is_calibrated(empty_url: str, tmp_path: Path) -> None:
    with _first_version(empty_url, "0003") as connection:
        _insert_collection(connection)
    with Catalog(tmp_path, empty_url) as catalog:
        fitted = {"threshold": 0.5, "scale": 1.0}
        catalog.calibrate("default", encoder=MODEL.fingerprint, generator="", fitted=fitted)
        kept = catalog.calibration("default", encoder=MODEL.fingerprint, generator="")
        assert kept is not None
        assert kept.fitted == fitted


def test_tables_that_are_not_whole_are_refused_and_left_alone(
    empty_url: str, tmp_path: Path
) -> None:
    with _first_version(empty_url, "0003") as connection:
        _insert_collection(connection)
        connection.execute(text("CREATE TABLE evaluation (id INTEGER)"))  # somebody else's
    _refused(tmp_path, empty_url, r"cannot be brought to revision \d+: .*exists")
    _execute(empty_url, "DROP TABLE evaluation", "UPDATE alembic_version SET version_num = '0003'")
    Catalog(tmp_path, empty_url).close()
    _execute(empty_url, "DROP TABLE evaluation")
    _refused(tmp_path, empty_url, "without the tables evaluation")
    _execute(empty_url, "DELETE FROM alembic_version")
    _refused(tmp_path, empty_url, "the tables adapter, .* more without the revision")


def _execute(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _refused(home: Path, url: str, why: str) -> None:
    with pytest.raises(IncompleteDatabase, match=f"{why}.*: nothing was written; restore all"):
        Catalog(home, url)
