"""Collections that are made and let go, and what is said of documents beside each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from index import Model, StoredDocument
from index.errors import CollectionExists, UnknownDocument
from index.records import Filter
from rag.errors import NotFound, UsageError
from rag.library import Library, tag_name
from rag.loaders.cleaning import clean
from rag.records import EVERYWHERE, HeldCollection, Within

if TYPE_CHECKING:
    from rag.duplicates import Duplicates
    from rag.every import Every
    from rag.similar import Asked, Similar


class Shelves(Library):
    """A library of several collections, in which documents are put beside each other."""

    def collections(self) -> tuple[HeldCollection, ...]:
        """Those that there are, by name."""
        catalog = self.catalog
        return tuple(
            HeldCollection(
                one.name,
                one.model.name,
                one.model.dimensions,
                sum(catalog.counts(one.name).documents.values()),
            )
            for one in catalog.collections()
        )

    def create(self, collection: str) -> str:
        """Make a collection that holds nothing yet, for the encoder of the settings.

        Returns:
            its name as it is stored

        Raises:
            UsageError: no collection can have this name.
            CollectionExists: there is one of that name.
            ModelMissing: the encoder is not on this machine.
        """
        name = collection_name(collection)
        if self.exists(name):
            raise CollectionExists(name)
        embedder = self.encoders.of(name)
        model = Model(self.settings.encoder, embedder.fingerprint, embedder.dimensions)
        self.catalog.create(name, model)
        return name

    def rename_collection(self, collection: str, name: str) -> str:
        """Give a collection another name; keys that are for it, and jobs that wait, follow.

        Returns:
            the name as it is stored

        Raises:
            UsageError: no collection can have this name.
            UnknownCollection: there is none of that name.
            CollectionExists: the new name is taken.
        """
        name = collection_name(name)
        self.catalog.rename_collection(collection, name)
        with self._lock:
            self._collections.pop(collection, None)
        return name

    def drop(self, collection: str) -> int:
        """Remove a collection with everything in it; how many documents it had.

        Raises:
            UnknownCollection: there is none of that name.
        """
        from rag.work import forget

        rows = self.catalog.documents(collection)
        self.catalog.drop(collection)
        forget(self, collection)
        with self._lock:
            self._collections.pop(collection, None)
        for row in rows:
            self._discard_upload(row.path)
        return len(rows)

    def _admitted(self, within: Within, name: str) -> list[int] | None:
        """The documents that a search may look into; None for all."""
        if within == EVERYWHERE:
            return None
        ids = tuple(self._id_of(document, name) for document in within.documents)
        given = Filter(
            documents=ids if within.documents else None,
            paths=tuple(within.paths),
            media_types=tuple(within.media_types),
            tags=tuple(tag_name(tag) for tag in within.tags),
            since=within.since,
            until=within.until,
        )
        return self.catalog.matching(name, given)

    def within(self, within: Within, collection: str | None = None) -> list[StoredDocument]:
        """The readable documents that meet these conditions, by path; duplicates left out."""
        name = collection or self.settings.collection
        rows = [row for row in self.documents(collection) if row.status == "indexed"]
        admitted = self._admitted(within, name) if rows else None
        return rows if admitted is None else [row for row in rows if row.id in set(admitted)]

    def _id_of(self, document: str | int, collection: str) -> int:
        # A number is an id, which the filter looks for itself; a name has to be found.
        return document if isinstance(document, int) else self.find(document, collection).id

    def similar(
        self,
        document: str | int | Path,
        *,
        k: int = 5,
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> "Similar":
        """The documents nearest to one of the library, or to a file that is only read.

        Returns:
            one hit a document: its chunk that matches best, and which passages match which

        Raises:
            UnknownDocument: neither the library nor the disk knows the name.
            Unreadable: the file cannot be read.
        """
        from rag import similar

        name = collection or self.settings.collection
        opened = self.opened(name)
        try:
            row = self.find(str(document), name)
        except UnknownDocument:
            if isinstance(document, int) or not Path(document).is_file():
                raise
            asked = similar.file(Path(document), self.encoders.of(name), self.load)
        else:
            # A duplicate has its original's passages.
            (key,) = self.catalog.matching(name, Filter(documents=(row.id,))) or [row.id]
            asked = similar.stored(key, row.path, opened, self.catalog)
        return self._like(asked, k, within, name)

    def similar_to_text(
        self,
        text: str,
        *,
        k: int = 5,
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> "Similar":
        """The documents nearest to any text, which is not stored; raises UsageError for none."""
        from rag import similar

        name = collection or self.settings.collection
        self.opened(name)
        return self._like(similar.pasted(text, self.encoders.of(name)), k, within, name)

    def similar_to_passage(
        self,
        chunk_id: int,
        *,
        k: int = 5,
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> "Similar":
        """The documents nearest to one passage of the library, as a hit shows it.

        Raises:
            NotFound: the passage is not there any more.
        """
        from rag import similar

        name = collection or self.settings.collection
        chunks = [
            chunk
            for chunk in self.catalog.chunks([chunk_id])
            if self.catalog.matching(name, Filter(documents=(chunk.document.id,)))
        ]
        if not chunks:
            raise NotFound(f"passage {chunk_id} is not in the library any more: search again")
        asked = similar.passage(chunks[0], self.opened(name), self.catalog)
        return self._like(asked, k, within, name)

    def _like(self, asked: "Asked", k: int, within: Within, name: str) -> "Similar":
        from rag.similar import similar_documents

        if k < 1:
            raise UsageError(f"k ({k}) must be at least 1")
        admitted = self._admitted(within, name)
        return similar_documents(
            asked,
            self.opened(name),
            self.catalog,
            k,
            embedder=self.encoders.of(name),
            documents=admitted,
        )

    def duplicates(
        self,
        *,
        at_least: float = 0.7,
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> "Duplicates":
        """Documents that are there more than once; see `rag.duplicates.find_duplicates`."""
        from rag.duplicates import find_duplicates

        chosen = self.within(within, collection)
        files = {row.sha256 for row in chosen}
        copies = [
            row
            for row in self.documents(collection)
            if row.status == "duplicate" and row.sha256 in files
        ]
        return find_duplicates(self, [*chosen, *copies], at_least=at_least)

    def every(
        self,
        questions: Sequence[str],
        *,
        within: Within = EVERYWHERE,
        collection: str | None = None,
    ) -> "Every":
        """Questions put to every document: a table that fills up; see `rag.every.Every`."""
        from rag.every import Every

        return Every(self, questions, within, collection)


def collection_name(name: str) -> str:
    """The name of a collection as it is stored: NFC, without blanks around it.

    Raises:
        UsageError: it is empty, longer than 255 characters, or has some that cannot be shown.
    """
    stored = clean(name)[0].strip()
    if not (stored and stored.isprintable() and len(stored) <= 255):
        raise UsageError("a collection's name has 1 to 255 characters that can be shown")
    return stored
