"""Byte-level byte pairs out of texts (Sennrich et al. 2016; Radford et al. 2019, §2.2).

Every text can be written in them and read back to the byte, which a model that writes needs.
"""

from collections.abc import Iterable

from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers.trainers import BpeTrainer

from transformer.errors import TrainingError
from transformer.tokenizer import Tokenizer

_BYTES = 256


def train_byte_pairs(texts: Iterable[str], *, size: int, specials: tuple[str, ...]) -> Tokenizer:
    """Learn a vocabulary of exactly `size` ids; the special tokens come first, in their order.

    Raises:
        TrainingError: there is too little text for the size, or no room for all bytes.
    """
    least = _BYTES + len(specials)
    if size < least:
        raise TrainingError(
            f"a vocabulary of {size} has no room for the {_BYTES} bytes and {len(specials)} "
            f"special tokens; give a size of {least} or more"
        )
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in specials],
    )
    backend.train_from_iterator(texts, trainer)
    if (made := backend.get_vocab_size()) < size:
        raise TrainingError(
            f"the text is too little for a vocabulary of {size}: it gives {made}; add text, or "
            "lower the size"
        )
    return Tokenizer(backend)
