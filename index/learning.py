"""What a catalogue keeps of how its collections are used, and of what they learned from it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, update

from index import adapters, calibrations, evaluations, history, reads
from index.chunk_rows import take_turn
from index.database import Database, repeated
from index.records import (
    AskedQuestion,
    EvaluationKind,
    Judgement,
    StoredAdapter,
    StoredCalibration,
    StoredCollection,
    StoredEvaluation,
)
from index.schema import CollectionRow


class Learning:
    """The part of `Catalog` that is about use. Every method is one transaction."""

    database: Database

    @repeated
    def remember(self, collection: str, question: str, *, patience_s: float | None = None) -> None:
        """Counts a question that was asked.

        Args:
            patience_s: How long to wait for another that writes; None as all others do.
        """
        with self.database.writing(patience_s) as connection:
            history.remember(connection, reads.collection(connection, collection), question)

    @repeated
    def judge(self, collection: str, question: str, chunk_id: int, kind: Judgement | None) -> None:
        """Stores what was thought of a passage that was shown for a question.

        Args:
            kind: A thumb replaces the one before; None takes it back.

        Raises:
            UnknownChunk: The passage is not there any more.
        """
        with self.database.writing() as connection:
            found = reads.collection(connection, collection)
            history.judge(connection, found, question, chunk_id, kind)

    def asked(self, collection: str) -> tuple[AskedQuestion, ...]:
        """Every question, the last asked first, with the passages of today that were judged."""
        with self.database.reading() as connection:
            return history.asked(connection, reads.collection(connection, collection))

    def count_asked(self, collection: str) -> int:
        """How many different questions are remembered."""
        with self.database.reading() as connection:
            return history.count(connection, reads.collection(connection, collection))

    @repeated
    def forget(self, collection: str) -> int:
        """Deletes all questions and judgements, and the adapters' reports, which quote some.

        Returns:
            How many questions it were.
        """
        with self.database.writing() as connection:
            found = reads.collection(connection, collection)
            adapters.forget_reports(connection, found)
            return history.forget(connection, found)

    def add_adapter(
        self,
        collection: str,
        *,
        fingerprint: str,
        base: str,
        kind: str,
        data: bytes,
        report: Mapping[str, Any],
    ) -> int:
        """Keeps an adapter; `use_adapter` puts it to use.

        Args:
            base: Fingerprint of the model that it belongs on.
            report: Whatever JSON can hold. It is forgotten with the questions.

        Returns:
            Its id.
        """
        values = {"fingerprint": fingerprint, "base": base, "kind": kind, "data": data}
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            return adapters.add(connection, found, {**values, "report": dict(report)})

    def adapters(self, collection: str) -> tuple[StoredAdapter, ...]:
        """The last that were made, the newest first, without their data; and the one in use."""
        with self.database.reading() as connection:
            return adapters.stored(connection, reads.collection(connection, collection))

    def use_adapter(self, collection: str, adapter_id: int | None) -> None:
        """Puts an adapter to use in place of the one that was; None is the model as it came.

        Raises:
            UnknownAdapter: The collection has none of this id.
            AdapterMismatch: It belongs on another model than the collection has.
        """
        with self.database.writing() as connection:
            key = None if adapter_id is None else int(adapter_id)
            adapters.use(connection, in_turn(connection, collection), key)

    def active_adapter(self, collection: str) -> StoredAdapter | None:
        """The one in use, with its data; `collection(name).adapter_id` says cheaply which."""
        with self.database.reading() as connection:
            return adapters.active(connection, reads.collection(connection, collection))

    def calibrate(
        self, collection: str, *, encoder: str, generator: str, fitted: Mapping[str, Any]
    ) -> None:
        """Keeps what was fitted to the documents, in place of the last fit of the same models.

        Args:
            encoder: Fingerprint of what encodes the questions.
            generator: Fingerprint of it; "" where none took part.
            fitted: Whatever JSON can hold, without a word of a question.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            calibrations.keep(connection, found, encoder, generator, fitted)

    def calibration(
        self, collection: str, *, encoder: str, generator: str
    ) -> StoredCalibration | None:
        """What was fitted for exactly these models."""
        with self.database.reading() as connection:
            found = reads.collection(connection, collection)
            return calibrations.stored(connection, found, encoder, generator)

    def calibrations(self, collection: str) -> tuple[StoredCalibration, ...]:
        """Those of all pairs of models, the last made first."""
        with self.database.reading() as connection:
            return calibrations.listed(connection, reads.collection(connection, collection))

    def keep_evaluation(
        self, collection: str, kind: EvaluationKind, figures: Mapping[str, Any]
    ) -> None:
        """Keeps what the collection was measured at.

        Args:
            figures: Whatever JSON can hold, without a word of a question.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            evaluations.keep(connection, found, kind, figures)

    def evaluations(self, collection: str) -> tuple[StoredEvaluation, ...]:
        """The last measurements, the newest first."""
        with self.database.reading() as connection:
            return evaluations.listed(connection, reads.collection(connection, collection))

    @repeated
    def set_rerank_weight(self, collection: str, weight: float) -> None:
        """Sets how much the generator's likelihood counts beside the fused score, from 0 to 1."""
        if not 0 <= weight <= 1:
            raise ValueError(f"re-ranking weight {weight} must lie between 0 (off) and 1 (alone)")
        with self.database.writing() as connection:
            found = reads.collection(connection, collection)
            row = update(CollectionRow).where(CollectionRow.id == found.id)
            connection.execute(row.values(rerank_weight=float(weight)))


def in_turn(connection: Connection, name: str) -> StoredCollection:
    """A collection as it is once nobody else writes into it, until this transaction ends."""
    take_turn(connection, reads.collection(connection, name).id)
    return reads.collection(connection, name)
