"""Whether a sentence answers a question: both are read together, by an adapter to the encoder.

A vector says what a text is about, and the sentences around an answer are about the same. Read in
one row with the question, every word of the one sees every word of the other (Nogueira & Cho 2019).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoder import checkpoint
from encoder.classify import KIND, Classifier
from encoder.embedder import Embedder
from encoder.headed import Restored
from transformer import lora
from transformer.errors import CheckpointError
from transformer.lora import Adapter

ADAPTERS = Path(__file__).parent / "adapters"  # of folders with an adapter and its model card
YES, NO = "yes", "no"  # its labels
_FARTHEST = 15.0  # log-odds: beyond, a probability in float32 is 0 or 1


class Judge:
    """Says how surely sentences answer a question.

    Attributes:
        fingerprint: of the encoder with the adapter
    """

    def __init__(self, classifier: Classifier, fingerprint: str) -> None:
        if set(classifier.labels) != {YES, NO} or not classifier.pairs:
            raise CheckpointError(
                f"a judge of evidence tells pairs by the labels {YES} and {NO}, this adapter by "
                f"{', '.join(classifier.labels) or 'numbers'}"
            )
        self._classifier = classifier
        self.fingerprint = fingerprint

    @classmethod
    def beside(cls, embedder: Embedder, folder: Path, adapter: Adapter) -> "Judge":
        """The judge of an embedder's own model, with which it shares tokenizer and table of words.

        Args:
            embedder: of the model
            folder: of the model's checkpoint
            adapter: that was trained on it

        Raises:
            CheckpointError: the adapter is for another model, or no judge.
        """
        if adapter.note.get("kind") != KIND:
            raise CheckpointError(f"a judge is a {KIND}, this is a {adapter.note.get('kind')!r}")
        dtype = next(embedder.model.parameters()).dtype
        loaded = replace(checkpoint.load(folder, dtype=dtype), tokenizer=embedder.tokenizer)
        loaded.model.embedding = embedder.model.embedding
        # What was read is one piece of memory, of which nothing goes as long as a part is used.
        for name, parameter in loaded.model.named_parameters():
            if name != "embedding.weight":
                parameter.data = parameter.data.clone()
        lora.load(loaded.model, adapter, base=loaded.fingerprint)
        lora.merge(loaded.model)
        classifier = Classifier(Restored(loaded, adapter.extra, adapter.note), dtype=dtype)
        return cls(classifier, lora.fingerprint(adapter))

    def log_odds(self, question: str, sentences: Sequence[str]) -> NDArray[np.float32]:
        """That each sentence answers the question, (n,) in the order given."""
        told = self._classifier.classify([question] * len(sentences), sentences)
        sure = np.array([each.scores[YES] for each in told], np.float32).clip(1e-7, 1 - 1e-7)
        odds = np.log(sure / (1 - sure)).clip(-_FARTHEST, _FARTHEST)
        return np.asarray(odds, np.float32)
