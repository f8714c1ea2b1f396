"""The composition root: settings in, the whole product out."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from index.analysis import is_korean
from index.errors import ModelMismatch
from index.records import AskedQuestion, Judgement, WordFrequencies
from rag import declining, history, prompts
from rag.answer import Speakers
from rag.asking import Asked, respond
from rag.errors import NotFound, TooLong, UsageError
from rag.explain import shared_terms
from rag.grounded import is_grounded
from rag.library import Stop, never
from rag.loaded import speaks
from rag.loaders.cleaning import clean, is_blank
from rag.records import EVERYWHERE, Answer, AnswerMode, Exchange, Mode, Report, SearchResult, Within
from rag.reembed import Moved, reembed
from rag.rerank import choose
from rag.retrieve import retrieve
from rag.rewriting import LEAST
from rag.shelves import Shelves
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from generator import Sampling, Writer
    from index.verify import Verification
    from rag.inspecting import Inspection
    from rag.remote import RemoteWriter
    from rag.upkeep import Archived


class Assistant(Shelves):
    """Everything that the product does, over one home: the library, and what it is asked."""

    def reembed(
        self, encoder: str, collection: str | None = None, *, stop: Stop = never
    ) -> Iterator[Moved]:
        """Move a collection to another encoder; see `rag.reembed.reembed`."""
        return reembed(self, encoder, collection, stop=stop)

    def verify(self) -> "Verification":
        """Count everything against everything; see `rag.upkeep.check`."""
        from rag import upkeep

        return upkeep.check(self)

    def rebuild(self) -> Iterator[int]:
        """Repair, and make every index and missing vector anew; see `rag.upkeep.rebuild`."""
        from rag import upkeep

        return upkeep.rebuild(self)

    def export(
        self, file: str | Path, collection: str | None = None, *, with_history: bool = False
    ) -> "Archived":
        """Write the home, or one collection of it, into one file.

        Args:
            file: the archive
            collection: which; all of them if None
            with_history: the questions that were asked come along
        """
        from rag import upkeep

        return upkeep.write_archive(self, Path(file), collection, history=with_history)

    def import_archive(self, file: str | Path) -> "Archived":
        """Take in what `export` wrote.

        Raises:
            BadArchive: it cannot be read.
            CollectionExists: one of its collections is there already; nothing was imported.
        """
        from rag import upkeep

        return upkeep.read_archive(self, Path(file))

    def reset(self) -> int:
        """Remove every document with all that was made of it; how many it were."""
        from rag import upkeep

        return upkeep.reset(self)

    def search(
        self,
        query: str,
        *,
        k: int = 5,
        mode: Mode = "hybrid",
        within: Within = EVERYWHERE,
        explain: bool = False,
        rerank: bool | None = None,
        remember: bool = True,
        collection: str | None = None,
    ) -> SearchResult:
        """The k best chunks.

        Args:
            query: any text but blank
            k: how many hits at most
            mode: meaning and words, or one of them; a question in a language that the encoder
                does not speak is always answered by words
            within: which documents to stay within
            explain: say of each hit which words of the query it has
            rerank: let the generator vote on the best hits; None where the library gains by it
            remember: count the query among those that the library learns from, where the settings
                do not say otherwise
            collection: where to look

        Raises:
            UsageError: a blank query, or k below 1.
            TooLong: more tokens than the encoder takes.
            UnknownCollection, UnknownDocument: no such name.
            BadFilter: a condition that cannot be.
            ModelMissing: the encoder that made the vectors is not here any more.
        """
        query, _ = clean(query)
        if is_blank(query):
            raise UsageError("the question is empty: write what you are looking for")
        if k < 1:
            raise UsageError(f"k ({k}) must be at least 1")
        name = collection or self.settings.collection
        if collection is None and not self.catalog.collections():
            return SearchResult(query, (), WordFrequencies(0, {}))
        try:
            found = self._search(query, k, mode, within, rerank, name)
        except ModelMismatch:  # the library has just moved to another model
            found = self._search(query, k, mode, within, rerank, name)
        if remember:
            history.remember(self, query, name)
        if not explain:
            return found
        hits = [replace(hit, terms=shared_terms(query, hit.chunk)) for hit in found.hits]
        return replace(found, hits=tuple(hits))

    def _search(
        self, query: str, k: int, mode: Mode, within: Within, rerank: bool | None, name: str
    ) -> SearchResult:
        opened = self.opened(name)
        embedder = None
        if mode != "lexical" and self.encoders.speaks(name, query):
            embedder = self.encoders.asking(name)
        _check_length(query, embedder)
        stored = self.catalog.collection(name)
        reranker, notes = choose(
            rerank,
            stored.rerank_weight,
            query,
            fused=mode == "hybrid" and embedder is not None,
            generator=self.settings.generator,
            models=self.models,
        )
        found = retrieve(
            query,
            collection=opened,
            embedder=embedder,
            k=k,
            mode=mode,
            weight=stored.fusion_weight,
            documents=self._admitted(within, name),
            reranker=reranker,
        )
        return replace(found, notes=notes)

    def stream(
        self,
        question: str,
        *,
        mode: AnswerMode = "auto",
        within: Within = EVERYWHERE,
        collection: str | None = None,
        sampling: "Sampling | None" = None,
        seed: int = 0,
        rerank: bool | None = None,
        remember: bool = True,
        earlier: Sequence[Exchange] = (),
        today: date | None = None,
    ) -> Iterator[str | Answer]:
        """The answer's text piece by piece, then the whole `Answer`; raises as `search` does.

        A piece is empty where there is nothing to show yet: closing the iterator there stops the
        generator within a step. A message that asks for a summary, for what documents there are,
        or for nothing, gets that: see `Answer.kind`.

        Args:
            question: any text but blank
            mode: quote, let the generator write, or (auto) quote and add what is borne out
            within: which documents to stay within
            collection: where to look
            sampling: how the generator writes; None is greedy and short
            seed: for sampling with chance
            rerank: as for `search`
            remember: as for `search`
            earlier: of the same conversation, the first first: what a follow-up leaves out is
                found there, and `Answer.query` says what was looked for
            today: which day "last month" is counted from; None is this machine's

        Raises:
            EngineError, also while iterating: the generator cannot be asked, or breaks off.
        """
        asked = Asked(
            question,
            collection,
            mode=mode,
            within=within,
            sampling=sampling,
            seed=seed,
            rerank=rerank,
            remember=remember,
            earlier=tuple(earlier),
            today=today or date.today(),
        )
        return respond(self, asked)

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "auto",
        within: Within = EVERYWHERE,
        collection: str | None = None,
        sampling: "Sampling | None" = None,
        seed: int = 0,
        rerank: bool | None = None,
        remember: bool = True,
        earlier: Sequence[Exchange] = (),
        today: date | None = None,
    ) -> Answer:
        """The whole answer; the arguments and errors are those of `stream`."""
        *_, last = self.stream(
            question,
            mode=mode,
            within=within,
            collection=collection,
            sampling=sampling,
            seed=seed,
            rerank=rerank,
            remember=remember,
            earlier=earlier,
            today=today,
        )
        assert isinstance(last, Answer)
        return last

    def inspect(
        self, question: str, passage: str, *, collection: str | None = None
    ) -> "Inspection":
        """Look inside of both models while they read a question and a passage, any text each.

        Raises:
            UsageError: one of them is blank.
            TooLong: more than 20,000 characters, or a question over the encoder's limit.
            ModelMissing: the encoder is not on this machine.
        """
        from rag import inspecting

        return inspecting.inspect(self, question, passage, collection or self.settings.collection)

    def judge(
        self,
        question: str,
        chunk_id: int,
        kind: Judgement | None,
        *,
        collection: str | None = None,
    ) -> bool:
        """Keep what was thought of a passage; see `rag.history.judge`.

        Args:
            question: that it was shown for
            chunk_id: of a hit or a citation
            kind: "opened", or a thumb: "up", "down", None to take it back
            collection: where it was found
        """
        return history.judge(self, question, chunk_id, kind, collection or self.settings.collection)

    def history(self, collection: str | None = None) -> tuple[AskedQuestion, ...]:
        """The questions that are remembered, the last asked first."""
        name = collection or self.settings.collection
        return self.catalog.asked(name) if self.exists(name) else ()

    def forget(self, collection: str | None = None, *, conversations: bool = False) -> int:
        """Forget every question and judgement; how many questions it were.

        Args:
            collection: of which
            conversations: delete everybody's conversations too, in which questions stand as well
        """
        name = collection or self.settings.collection
        if not self.exists(name):
            return 0
        if conversations:
            from index.conversations import Conversations

            Conversations(self.catalog.database).clear(name)
        return self.catalog.forget(name)

    def report(
        self,
        output: str | Path | None = None,
        *,
        clusters: int | None = None,
        by: Literal["documents", "passages"] = "documents",
        outliers: Literal["keep", "assign"] = "keep",
        compare: str | Path | None = None,
        collection: str | None = None,
    ) -> Report:
        """Group the library's documents.

        Args:
            output: write a file: .html, .json, .csv or .md by its suffix
            clusters: how many groups; None finds the number
            by: what is grouped; passages for a library of few long documents
            outliers: what is near to nothing is left out of all groups, or put into the nearest
            compare: an earlier report of this library, as JSON
            collection: which documents

        Raises:
            UsageError: clusters below 1, or another suffix; nothing was grouped.
            Unreadable: the earlier report is not one.
        """
        from rag import report_files
        from rag.report import Wanted, build_report
        from rag.report_compare import read_report

        if clusters is not None and clusters < 1:
            raise UsageError(f"clusters ({clusters}) must be at least 1")
        file = None if output is None else Path(output)
        if file is not None:
            report_files.kind_of(file)
        old = None if compare is None else read_report(Path(compare))
        name = collection or self.settings.collection
        opened = self.opened(name) if self.exists(name) else None
        wanted = Wanted(clusters=clusters, by=by, outliers=outliers, old=old)
        made = build_report(opened, wanted, self.rewriter)
        if file is None:
            return made
        path = str(file.absolute())
        made = replace(made, file=path, html=path if report_files.is_page(file) else None)
        report_files.write(made, file)
        return made

    def warm(self) -> None:
        """Load what a first question would wait for."""
        name = self.settings.collection
        embedder = self.encoders.asking(name)
        unrelated_cosine(embedder)
        self.models.judge(self.encoders.name(name))
        if self.exists(name):
            self.opened(name).catch_up()
        if self.models.remote is None:
            with suppress(NotFound):
                self.models.writer()

    def speakers(self, question: str, mode: AnswerMode, collection: str) -> Speakers:
        """Who answers a question: the encoder and the writer that speak its language."""
        names = {"encoder": self.encoders.name(collection)}
        asking = self.encoders.speaks(collection, question)
        embedder = self.encoders.asking(collection) if asking else None
        remote = self.models.remote
        if mode != "extract" and remote is not None:
            names["generator"] = remote.model
            note = prompts.by_engine(question, remote.model, remote.url)
            return Speakers(embedder, remote, names, leads=True, note=note)
        writer = self.models.writer() if mode != "extract" and self._writes(question) else None
        if writer is not None:
            names["generator"] = self.settings.generator
        judge = None if embedder is None else self.models.judge(names["encoder"])
        asked = mode == "auto" and judge is None and is_grounded(writer)
        votes = writer.fingerprint if asked and writer is not None else ""
        calibration = declining.kept(self, collection, embedder, judge, votes)
        return Speakers(embedder, writer, names, calibration=calibration, judge=judge)

    def rewriter(self, question: str) -> "Writer | RemoteWriter | None":
        """Who can put a follow-up into a whole question; see `rag.rewriting`."""
        if self.models.remote is not None or not self._writes(question):
            return self.models.remote
        writer = self.models.writer()
        return writer if writer.parameters >= LEAST else None

    def _writes(self, question: str) -> bool:
        return speaks(self.settings.generator, "ko" if is_korean(question) else "en")


def _check_length(query: str, embedder: "Embedder | None") -> None:
    if len(query) > history.LONGEST:
        raise TooLong(
            f"the question has {len(query)} characters, {history.LONGEST} are taken: shorten it"
        )
    if embedder is None:
        return
    tokens = embedder.count_query(query)
    if tokens > embedder.max_tokens:
        raise TooLong(
            f"the question has {tokens} tokens, the encoder takes {embedder.max_tokens}: shorten it"
        )
