"""The lexical side: BM25 by tantivy over the tokens of `index.analysis`.

An index is a folder of numbered generations, of which the highest is in use. Only tantivy's
commits change one, by adding files of new names, under a lock that processes share. The `seq` that
it has applied is a document in it, so that one commit writes both.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tantivy
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from index import analysis
from index.errors import StorageBusy
from index.records import Candidates, Entry, Ids, WordFrequencies

_HEAP = 15_000_000  # bytes, the least that tantivy takes
_WAIT_S = 60.0  # in which another process must have applied a block
_WORN = 0.25  # deleted rows to live ones, from where on they distort the statistics of BM25


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", indexed=True, fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field("tokens", tokenizer_name="tokens", index_option="freq")
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")  # "chunk"
    builder.add_unsigned_field("applied", indexed=True, fast=True)
    return builder.build()


_SCHEMA = _schema()
_SPLIT_ONLY = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


class LexicalIndex:
    """Several processes may have the same folder open, each with an instance of its own.

    Args:
        name: Differs between databases. The version of the tokens is added to it, so that an
            index of other tokens is left behind and a new one made.
    """

    block = 1000  # small, so that processes which wait for the lock take turns

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / f"lexical-{name}-{analysis.version()}"
        self._lock = FileLock(folder / "lexical.lock", timeout=_WAIT_S)
        self._generation = 0
        self._index: tantivy.Index | None = None
        self._searcher: tantivy.Searcher | None = None
        self.applied = 0
        self._reopen()

    def __len__(self) -> int:
        # All but the document that says what was applied.
        return self._searcher.num_docs - 1 if self._searcher and self.applied else 0

    def search(self, query: str, k: int, documents: Ids | None = None) -> Candidates:
        """The best chunks by BM25, at most k, equal ones by ascending id.

        Only chunks with at least one of the query's tokens are found. A token that the query
        repeats counts as often.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
        """
        if k < 1:
            raise ValueError(f"k ({k}) must be at least 1")
        words = Counter(analysis.tokens(query))
        searcher = self._searcher  # a snapshot: catching up puts another in its place
        if searcher is None or not words or (documents is not None and not len(documents)):
            return Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
        limit = min(k, max(searcher.num_docs, 1))
        hits = searcher.search(_query(words, documents), limit, count=False).hits
        ids = searcher.fast_field_values("chunk", [address for _, address in hits])
        return _ranked(np.array(ids, np.int64), np.array([hit[0] for hit in hits], np.float32))

    def ids(self) -> NDArray[np.int64]:
        """The chunks that are in it, in ascending order."""
        searcher = self._searcher
        if searcher is None:
            return np.empty(0, np.int64)
        chunks = tantivy.Query.term_query(_SCHEMA, "kind", "chunk", index_option="basic")
        hits = searcher.search(chunks, max(searcher.num_docs, 1), count=False).hits
        found = searcher.fast_field_values("chunk", [address for _, address in hits])
        return np.sort(np.array(found, np.int64))

    def frequencies(self, words: Iterable[str]) -> WordFrequencies:
        """In how many chunks each word stands, a word being one of `analysis.tokens`."""
        searcher = self._searcher
        if searcher is None:
            return WordFrequencies(0, dict.fromkeys(words, 0))
        return WordFrequencies(
            len(self), {word: searcher.doc_freq("tokens", word) for word in words}
        )

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Keeps other processes from writing, having taken in what they wrote."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._acquire()
        try:
            self._reopen()
            yield
        finally:
            self._lock.release()

    def _acquire(self) -> None:
        """Waits as long as whoever has the lock gets on with it."""
        while True:
            try:
                self._lock.acquire()
            except Timeout as error:
                seen = self.applied
                self._reopen()
                if self.applied == seen:
                    raise StorageBusy(f"the index {self._folder}", _WAIT_S) from error
            else:
                return

    def apply(self, seq: int, changed: Sequence[int], items: Sequence[Entry]) -> None:
        """To be called within `updating`."""
        index = self._index or self._begin_generation()
        writer = index.writer(_HEAP, num_threads=1)
        # What a killed process left has the name of a file that this commit will write.
        writer.garbage_collect_files()
        # By query, because deletion by term finds no number.
        gone = tantivy.Query.term_set_query(_SCHEMA, "chunk", list(changed))
        writer.delete_documents_by_query(gone)
        for entry in items:
            writer.add_document(_chunk(entry))
        writer.delete_documents_by_query(tantivy.Query.exists_query("applied"))
        writer.add_document(_mark(seq))
        writer.commit()
        writer.wait_merging_threads()  # else small segments would pile up
        self._read(index)

    def settle(self) -> None:
        """Begins anew where too many deleted rows still count in the frequencies of words."""
        if self._is_worn():
            with self.updating():
                if self._is_worn():  # no other process was first
                    self._begin_generation()

    def reset(self) -> None:
        with self.updating():
            self._begin_generation()

    def _is_worn(self) -> bool:
        if self._searcher is None:
            return False
        rows = self._searcher.doc_freq("kind", "chunk")  # counts deleted rows as BM25 does
        return rows - len(self) > _WORN * len(self)

    def _generations(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.name) for path in self._folder.iterdir() if path.name.isdecimal())

    def _reopen(self) -> None:
        """Sees what is committed, by whichever process, and in whichever generation."""
        newest = max(self._generations(), default=0)
        self._generation = newest
        try:
            index = tantivy.Index.open(str(self._folder / str(newest)))
            self._read(index)
        except (ValueError, OSError):  # not there, not whole, or of another version of tantivy
            self._forget()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what a truncated file ends in
                raise
            self._forget()

    def _read(self, index: tantivy.Index) -> None:
        index.register_tokenizer("tokens", _SPLIT_ONLY)
        index.config_reader("manual", 0)  # else a thread would watch the folder
        index.reload()
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.exists_query("applied"), 1).hits
        marks = searcher.fast_field_values("applied", [address for _, address in hits])
        self.applied = int(marks[0] or 0) if marks else 0
        self._index, self._searcher = index, searcher

    def _forget(self) -> None:
        self._index, self._searcher, self.applied = None, None, 0

    def _begin_generation(self) -> tantivy.Index:
        """Makes the next generation, empty, and removes what is left of the earlier ones."""
        self._generation += 1
        path = self._folder / str(self._generation)
        path.mkdir()
        index = tantivy.Index(_SCHEMA, str(path), reuse=False)
        self._read(index)
        for old in self._folder.parent.glob("lexical-*/*"):
            if old != path:
                shutil.rmtree(old, ignore_errors=True)  # on Windows while others have it open
        return index


def _chunk(entry: Entry) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("chunk", entry.chunk_id)
    document.add_unsigned("document", entry.document_id)
    document.add_text("tokens", " ".join(analysis.tokens(entry.text)))
    document.add_text("kind", "chunk")
    return document


def _mark(seq: int) -> tantivy.Document:
    document = tantivy.Document()
    document.add_unsigned("applied", seq)
    return document


def _query(words: Counter[str], documents: Ids | None) -> tantivy.Query:
    terms = [
        tantivy.Query.boost_query(
            tantivy.Query.term_query(_SCHEMA, "tokens", word, index_option="freq"), float(count)
        )
        for word, count in words.items()
    ]
    any_word = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
    if documents is None:
        return any_word
    chosen = tantivy.Query.term_set_query(_SCHEMA, "document", [int(key) for key in documents])
    return tantivy.Query.boolean_query(
        [
            (tantivy.Occur.Must, any_word),
            (tantivy.Occur.Must, tantivy.Query.const_score_query(chosen, 0.0)),
        ]
    )


def _ranked(ids: NDArray[np.int64], scores: NDArray[np.float32]) -> Candidates:
    order = np.lexsort((ids, -scores))
    return Candidates(ids[order], scores[order])
