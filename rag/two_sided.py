"""The heavy way to adapt: passages learn as well, and the library moves to what they became."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag.adaptation_report import record
from rag.errors import UsageError
from rag.library import never
from rag.loaded import ORIGIN, taught_from
from rag.outcome import Adaptation
from rag.practice import Found, Question, Shelf, passage
from rag.reembed import reembed

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.guided import Pairs
    from rag.adapting_run import Practice

MOST_PAIRS = 6000
_NEGATIVES = slice(10, 30)  # ranks of the fused list that negatives are taken from
_TOO_NEAR = 0.95  # of the passage's own cosine: what is nearer may well answer too
_LEAST_PAIRS = 50
_FOLDER = "encoder"


def adapt_both(practice: "Practice") -> Adaptation:
    """Train a new encoder, judge it, and move the library to it where it is better.

    Raises:
        UsageError: too few questions have a passage that is known to be right.
    """
    gathered = practice.gathered()
    homes = practice.library.settings.home / "models"
    homes.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".adapting-", dir=homes) as scratch:
        new = _trained(practice, gathered.learned, Path(scratch))
        practice.watch("encoding the passages", 0.5)
        rows = new.embed_documents(_texts(practice.shelf))
        practice.done("encode")

        def again(before: Sequence[Found], texts: Sequence[str]) -> list[Found]:
            return practice.shelf.again(before, new.embed_queries(texts), rows)

        practice.watch("judging", 0.7)
        made, _ = practice.judge("both", new.fingerprint, gathered, new, again)
        practice.done("judge")
        if made.accepted:
            practice.require_unchanged()
            kept = _keep(Path(scratch) / _FOLDER, homes, made)
    if made.accepted:
        practice.watch("moving the library", 0.9)
        for _ in reembed(practice.library, str(kept), practice.name, stop=never):
            pass
        practice.done("move")
    return made


def _keep(folder: Path, homes: Path, made: Adaptation) -> Path:
    """The new encoder at its place, with what it was and how it was judged."""
    origin = {"base": taught_from(made.encoder) or made.encoder, "report": record(made)}
    text = json.dumps(origin, ensure_ascii=False, indent=2)
    (folder / ORIGIN).write_text(text + "\n", encoding="utf-8")
    kept = homes / f"adapted-{made.adapter}"
    if not kept.exists():
        folder.rename(kept)
    return kept


def _trained(practice: "Practice", questions: Sequence[Question], scratch: Path) -> "Embedder":
    """The new encoder, which is saved in `scratch` and not held open there: it may be moved."""
    from encoder import Embedder, checkpoint
    from encoder.guided import GuidedTuning, tune_both
    from transformer import runtime

    pairs = _pairs(practice.shelf, questions)
    base = practice.library.models.trainable(practice.stored.model.name)
    config = GuidedTuning(minutes=practice.wish.minutes / 2, seed=practice.wish.seed)
    tune_both(
        base,
        pairs,
        config,
        scratch / "run",
        watch=lambda moment: practice.watch(
            f"learning, loss {moment.loss:.3f}", 0.1 + 0.4 * moment.progress
        ),
    )
    checkpoint.save(base, scratch / _FOLDER)
    mark = checkpoint.load(scratch / _FOLDER).fingerprint
    practice.done("learn")
    return Embedder(
        base.model,
        base.tokenizer,
        base.embedding,
        fingerprint=mark,
        dtype=runtime.fast_dtype(),
    )


def _pairs(shelf: Shelf, questions: Sequence[Question]) -> "Pairs":
    """Each question that has a right document, with its best chunk and one that is no answer."""
    from encoder.guided import Pairs

    known = [each for each in questions if any(grade > 0 for grade in each.grades.values())]
    found = shelf.find([each.text for each in known[:MOST_PAIRS]], shelf.embedder)
    chosen = [
        (question, each, *pair)
        for question, each in zip(known, found, strict=False)
        if (pair := _pair(shelf, question, each)) is not None
    ]
    if len(chosen) < _LEAST_PAIRS:
        raise UsageError(
            f"{len(chosen)} questions with a right passage are too few to teach passages by, "
            f"{_LEAST_PAIRS} are needed: give judged ones with --queries, or leave out --two-sided"
        )
    read = sorted({key for *_, right, wrong in chosen for key in (right, wrong)})
    texts = {chunk.id: passage(chunk) for chunk in shelf.collection.chunks(read)}
    vectors = shelf.vectors.rows
    return Pairs(
        [question.text for question, *_ in chosen],
        [texts[right] for *_, right, _ in chosen],
        [[texts[wrong]] for *_, wrong in chosen],
        np.stack([each.vector for _, each, *_ in chosen]),
        np.stack([vectors[shelf.row_of[right]] for *_, right, _ in chosen]),
        np.stack([vectors[shelf.row_of[wrong]][None] for *_, wrong in chosen]),
    )


def _pair(shelf: Shelf, question: Question, found: Found) -> tuple[int, int] | None:
    ranked = [key for key in shelf.ranked(found, "fused") if key in shelf.row_of]
    right = next((k for k in ranked if question.grades.get(shelf.document_of[k], 0) > 0), None)
    if right is None:
        return None
    limit = _TOO_NEAR * float(shelf.vectors.rows[shelf.row_of[right]] @ found.vector)
    for key in ranked[_NEGATIVES]:
        near = float(shelf.vectors.rows[shelf.row_of[key]] @ found.vector)
        if near < limit and shelf.document_of[key] not in question.grades:
            return right, key
    return None


def _texts(shelf: Shelf) -> list[str]:
    chunks = shelf.collection.chunks(shelf.vectors.ids.tolist())
    if len(chunks) < len(shelf.vectors.ids):
        gone = len(shelf.vectors.ids) - len(chunks)
        raise UsageError(f"{gone} passages were removed meanwhile: adapt again")
    return [passage(chunk) for chunk in chunks]
