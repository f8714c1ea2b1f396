"""Tokens as the service counts them: by the tokenizer of the collection's encoder."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from rag.assistant import Assistant
from rag.errors import AttestError

if TYPE_CHECKING:
    from transformer.tokenizer import Tokenizer

_WORD = re.compile(r"\w+|[^\w\s]")


class Counter:
    """Counts a text's tokens, without special ones; words where the encoder is not here."""

    def __init__(self, attest: Assistant, collection: str | None) -> None:
        self._attest = attest
        self._collection = collection or attest.settings.collection
        self._tokenizer: Tokenizer | None = None

    def load(self) -> None:
        """Fetch the tokenizer: the encoder may have to be loaded for it."""
        with suppress(AttestError):  # it is not here: words are found and quoted all the same
            self._tokenizer = self._attest.encoders.of(self._collection).tokenizer

    def __call__(self, text: str) -> int:
        return len(self.ends(text))

    def ends(self, text: str) -> list[int]:
        """Where in the text each token ends, in code points."""
        if self._tokenizer is None:
            return [word.end() for word in _WORD.finditer(text)]
        _, (places,) = self._tokenizer.encode_with_offsets([text])
        return [end for _, end in places]
