"""Reading an archive in: whole or not at all, and nothing of it believed before it is checked."""

import filecmp
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, insert
from sqlalchemy.exc import IntegrityError

from index import adapters, reads
from index.archive_format import (
    ADAPTER,
    CONVERSATIONS,
    MANIFEST,
    PARTS,
    QUESTIONS,
    ArchivedCollection,
    ArchivedDocument,
    member,
    read_chunk,
    read_document,
    read_manifest,
)
from index.archive_learned import insert_question, read_question
from index.archive_reader import ArchiveReader, MemberReader, opened
from index.archive_talks import (
    at_places,
    insert_conversation,
    insert_figures,
    read_conversation,
)
from index.catalog import Catalog
from index.chunk_rows import chunk_ids, insert_chunks, insert_encoded, log, take_turn
from index.codec import is_encoded
from index.errors import BadArchive, CollectionExists
from index.lifecycle import same_as
from index.schema import CollectionRow, DocumentRow, TagRow
from index.titles import found_title, nfc


def import_archive(catalog: Catalog, file: Path) -> list[str]:
    """Reads in all that an archive holds, in one transaction.

    Ids are made anew. The indexes make themselves when they are first searched. Files that lay in
    the home that was exported come to lie in this one, and their documents' paths say so.

    Returns:
        The names of the collections.

    Raises:
        BadArchive: `export` did not write it, or it is damaged.
        CollectionExists: There is one of such a name.
    """
    with opened(file) as archive:
        collections = read_manifest(archive.json(MANIFEST))
        files = archive.check(collections, catalog.home)
        there = {found.name for found in catalog.collections()}
        for collection in collections:
            if collection.name in there:
                raise CollectionExists(collection.name)
        # `.tmp`, so that what a kill leaves of it is known for what it is.
        with TemporaryDirectory(prefix="import-", suffix=".tmp", dir=catalog.home) as folder:
            aside = [(archive.extract(name, Path(folder)), target) for name, target in files]
            with _placed(aside), catalog.database.writing() as connection:
                for number, collection in enumerate(collections):
                    _Import(connection, catalog.home, collection).read(archive, number)
    return [collection.name for collection in collections]


class _Import:
    """One collection on its way in, inside of a writing transaction."""

    def __init__(self, connection: Connection, home: Path, collection: ArchivedCollection) -> None:
        self.connection = connection
        self.home = home
        self.collection = collection
        self._collection_id = self._make_collection()
        self._originals: dict[str, str] = {}  # path by hash
        self._paths = set[str]()
        self._left = [collection.chunks, collection.vectors]
        self._documents = list[int]()  # ids, in the order of the archive
        self._chunks = list[int]()  # likewise

    def read(self, archive: ArchiveReader, number: int) -> None:
        parts = [archive.reading(member(number, part)) for part in PARTS]
        with parts[0] as documents, parts[1] as chunks, parts[2] as vectors:
            for _ in range(self.collection.documents):
                value = documents.take_json()
                self._take(read_document(documents.where, value), documents.where, chunks, vectors)
            for reader in (documents, chunks, vectors):
                reader.check_end()
        if any(self._left):
            raise BadArchive(
                f"collection {self.collection.name!r} has {self._left[0]} chunks and "
                f"{self._left[1]} vectors fewer than the manifest says"
            )
        self._read_adapter(archive, number)
        self._read_questions(archive, number)
        self._read_conversations(archive, number)
        insert_figures(
            self.connection,
            self._collection_id,
            self.collection.calibrations,
            self.collection.evaluations,
        )

    def _read_adapter(self, archive: ArchiveReader, number: int) -> None:
        adapter = self.collection.adapter
        if adapter is None:
            return
        with archive.reading(member(number, ADAPTER)) as reader:
            data = reader.take(adapter.size)
            reader.check_end()
        stored = reads.collection(self.connection, self.collection.name)
        key = adapters.add(self.connection, stored, adapter.values(data))
        adapters.use(self.connection, stored, key)

    def _read_questions(self, archive: ArchiveReader, number: int) -> None:
        if self.collection.questions is None:
            return
        known = set[str]()
        with archive.reading(member(number, QUESTIONS)) as reader:
            for _ in range(self.collection.questions):
                value = reader.take_json()
                question = read_question(reader.where, value, self._collection_id, known)
                known.add(question["sha256"])
                insert_question(self.connection, question)
            reader.check_end()

    def _read_conversations(self, archive: ArchiveReader, number: int) -> None:
        if self.collection.conversations is None:
            return
        places = at_places(self._documents), at_places(self._chunks)
        with archive.reading(member(number, CONVERSATIONS)) as reader:
            for _ in range(self.collection.conversations):
                talk = read_conversation(reader.where, reader.take_json())
                insert_conversation(self.connection, self._collection_id, talk, *places)
            reader.check_end()

    def _make_collection(self) -> int:
        model = self.collection.model
        values = {
            "name": self.collection.name,
            "uid": uuid.uuid4().hex,
            "model_name": model.name,
            "model_fingerprint": model.fingerprint,
            "dimensions": model.dimensions,
            "fusion_weight": self.collection.fusion_weight,
            "rerank_weight": self.collection.rerank_weight,
        }
        try:
            made = insert(CollectionRow).values(values).returning(CollectionRow.id)
            key = self.connection.execute(made).scalar_one()
        except IntegrityError as error:
            raise CollectionExists(self.collection.name) from error
        take_turn(self.connection, key)
        return key

    def _take(
        self, document: ArchivedDocument, where: str, chunks: MemberReader, vectors: MemberReader
    ) -> None:
        path = document.path
        if document.in_home:
            path = nfc(str(self.home.absolute() / path))
        if path in self._paths:
            raise BadArchive(f"{where} has the path of another document, {path}")
        self._paths.add(path)
        key = self._insert(document, path, self._reason(document, path, where))
        self._documents.append(key)
        if document.status == "indexed":
            self._take_chunks(document, path, key, chunks, vectors)

    def _reason(self, document: ArchivedDocument, path: str, where: str) -> str | None:
        """Originals come before their duplicates, and each content has one."""
        original = self._originals.get(document.sha256)
        if document.status == "duplicate":
            if original is None:
                raise BadArchive(f"{where} is a duplicate of a document that is not there")
            return same_as(original)
        if document.status == "indexed":
            if original is not None:
                raise BadArchive(f"{where} has the content of another document, {original}")
            self._originals[document.sha256] = path
        return document.reason

    def _insert(self, document: ArchivedDocument, path: str, reason: str | None) -> int:
        values: dict[str, Any] = {
            "collection_id": self._collection_id,
            "path": path,
            "title": document.title,
            "media_type": document.media_type,
            "sha256": document.sha256,
            "size": document.size,
            "status": document.status,
            "reason": reason,
            "warnings": list(document.warnings),
            "added": document.added,
            "modified": document.modified,
            "text": document.text,
            "layout": document.layout,
        }
        made = insert(DocumentRow).values(values).returning(DocumentRow.id)
        key = self.connection.execute(made).scalar_one()
        tags = [{"document_id": key, "name": name} for name in dict.fromkeys(document.tags)]
        if tags:
            self.connection.execute(insert(TagRow), tags)
        return key

    def _take_chunks(
        self,
        document: ArchivedDocument,
        path: str,
        key: int,
        lines: MemberReader,
        vectors: MemberReader,
    ) -> None:
        text = document.text or ""
        self._count(document.chunks, 0)
        chunks = []
        for _ in range(document.chunks):
            value = lines.take_json()
            chunks.append(read_chunk(lines.where, value, text))
        model = self.collection.model
        title = found_title(path, document.title)
        cut = [chunk.cut(text) for chunk in chunks]
        insert_chunks(self.connection, key, title, cut, model.fingerprint)
        ids = chunk_ids(self.connection, key)
        self._chunks += ids
        log(self.connection, self._collection_id, ids, "text", "upsert")
        made = [each for each, chunk in zip(ids, chunks, strict=True) if chunk.has_vector]
        rows = [self._vector(vectors) for _ in made]
        insert_encoded(self.connection, self._collection_id, made, rows, model.fingerprint)

    def _vector(self, vectors: MemberReader) -> bytes:
        self._count(1, 1)
        dimensions = self.collection.model.dimensions
        data = vectors.take(2 * dimensions)
        if not is_encoded(data, dimensions):
            number = self.collection.vectors - self._left[1]
            raise BadArchive(f"vector {number} of {vectors.name} is damaged: its length is not 1")
        return data

    def _count(self, n: int, which: int) -> None:
        self._left[which] -= n
        if self._left[which] < 0:
            raise BadArchive(
                f"collection {self.collection.name!r} has more "
                f"{('chunks', 'vectors')[which]} than the manifest says"
            )


@contextmanager
def _placed(files: Sequence[tuple[Path, Path]]) -> Iterator[None]:
    """Moves files to where they belong, and takes them away again if the block raises."""
    placed = []
    try:
        for aside, target in files:
            if target.exists():
                if not filecmp.cmp(aside, target, shallow=False):
                    raise BadArchive(f"it has another file {target} than lies there: move that")
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            aside.replace(target)
            placed.append(target)
        yield
    except BaseException:
        for target in placed:
            target.unlink(missing_ok=True)
        raise
