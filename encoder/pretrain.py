"""Masked language modelling: an encoder learns a language from bare text (Devlin et al. 2018)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from encoder import data, masking, pooling
from encoder.checkpoint import EncoderCheckpoint
from encoder.data import Packed
from encoder.model import set_dropout
from encoder.retromae import Rebuilder
from encoder.words import WordHead
from transformer import runtime
from transformer.errors import TrainingError
from transformer.init import initialise
from transformer.tokenizer import Tokenizer
from transformer.tokenizer_training import require_coverage
from transformer.training import Pass, Trained, TrainingConfig, Watch, train

_MOST_HELD_OUT = 1000  # texts: more would take time from training and tell no more
_LOOKED_AT = 1000  # texts, for whether the vocabulary was made for them


@dataclass(frozen=True, slots=True)
class MlmConfig:
    """Defaults are those of a first run on a few processor cores."""

    training: TrainingConfig
    rate: float = 0.3  # share of the text that is hidden (Wettig et al. 2023)
    scheme: masking.Scheme = "all"
    length: int = 128  # tokens of a row, which several texts may share
    rows: int = 64  # of a batch
    dropout: float = 0.0  # with one pass over the data there is nothing to overfit
    held_out: float = 0.02  # share of the texts that is measured on and never trained on
    retromae: bool = False  # also rebuild each text from its sentence vector
    rebuilt_rate: float = 0.5  # share of the text that is hidden from that

    def __post_init__(self) -> None:
        for name in ("rate", "held_out", "rebuilt_rate"):
            if not 0 < (share := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({share}) must lie between 0 and 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout ({self.dropout}) must be at least 0 and below 1")
        for name in ("length", "rows"):
            if (size := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({size}) must be at least 1")


def pretrain(
    checkpoint: EncoderCheckpoint,
    texts: Sequence[str],
    config: MlmConfig,
    folder: Path,
    *,
    watch: Watch = lambda _: None,
) -> Trained:
    """Train an encoder, fresh or loaded, in place; or go on with what `folder` holds.

    Args:
        checkpoint: its model is trained; the head that guesses words begins anew and is not kept
        texts: documents
        config: of a resumed run it must be the same, budgets aside
        folder: for the state of the run
        watch: told of every step

    Returns:
        metrics `log_likelihood` of the hidden held-out words, which is the loss with its sign
        turned, and `accuracy`, the share of them that is guessed right

    Raises:
        TrainingError: the texts, the vocabulary or the sizes do not fit, or the numbers went wrong.
    """
    task = Masking(checkpoint, texts, config)
    set_dropout(checkpoint.model, config.dropout)
    try:
        return train(task, config.training, folder, watch=watch)
    finally:
        set_dropout(checkpoint.model, 0.0)


class _Learner(nn.Module):
    """All that is trained. The head is shared by both ways of guessing."""

    def __init__(self, checkpoint: EncoderCheckpoint, config: MlmConfig) -> None:
        super().__init__()
        rng = runtime.seeded(config.training.seed)
        encoder = checkpoint.model
        self.head = WordHead(encoder.config)
        self.rebuilder = Rebuilder(encoder) if config.retromae else None
        initialise(self, rng)
        self.head.level(encoder.embedding.weight)
        self.encoder = encoder  # last, for it begins with what it knows


class Masking:
    """The task of `pretrain`, for whoever wants to look at what its head guesses."""

    def __init__(
        self, checkpoint: EncoderCheckpoint, texts: Sequence[str], config: MlmConfig
    ) -> None:
        _require_fit(checkpoint, config)
        require_coverage(checkpoint.tokenizer, texts[:_LOOKED_AT])
        self.config = config
        self.how = checkpoint.embedding.pooling
        self.mask_id = _mask_id(checkpoint.tokenizer)
        specials = torch.tensor(sorted(checkpoint.tokenizer.special_tokens().values()))
        self.words = masking.ordinary(checkpoint.tokenizer.size, specials)
        self.train, self.held_out = _split(checkpoint, texts, config)
        self.learner = _Learner(checkpoint, config)

    @property
    def model(self) -> _Learner:
        return self.learner

    def epoch(self, rng: torch.Generator) -> Sequence[Tensor]:
        order = torch.randperm(len(self.train.tokens), generator=rng)
        return torch.split(order, self.config.rows)

    def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
        tokens, segments = self.train.tokens[batch], self._moved(self.train.segments[batch])
        encoder, head = self.learner.encoder, self.learner.head
        hidden_words = self._mask(tokens, self.config.rate, rng)
        hidden = encoder(hidden_words.tokens, segments=segments)
        matrix = encoder.embedding.weight
        loss = head.loss(_at(hidden, hidden_words.chosen), matrix, hidden_words.labels)
        told = loss.detach()
        if self.learner.rebuilder is not None:
            vectors = pooling.pool(encoder, hidden, self.how, segments=segments)
            most = self._mask(tokens, self.config.rebuilt_rate, rng)
            rebuilt = self.learner.rebuilder(encoder, most.tokens, segments, vectors)
            loss = loss + head.loss(_at(rebuilt, most.chosen), matrix, most.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(float(told), int((segments > 0).sum()))

    def evaluate(self) -> Mapping[str, float]:
        return self.measure(self.held_out)

    def measure(self, packed: Packed) -> Mapping[str, float]:
        """The metrics of `pretrain`, on other text."""
        rng = runtime.seeded(self.config.training.seed)  # the same words are hidden each time
        lost = right = words = 0.0
        encoder = self.learner.encoder
        for tokens, segments in _batches(packed, self.config.rows):
            masked = self._mask(tokens, self.config.rate, rng)
            hidden = _at(encoder(masked.tokens, segments=self._moved(segments)), masked.chosen)
            scores = self.learner.head.scores(hidden, encoder.embedding.weight).float()
            lost += float(nn.functional.cross_entropy(scores, masked.labels, reduction="sum"))
            right += float((scores.argmax(-1) == masked.labels).sum())
            words += len(masked.labels)
        return {"log_likelihood": -lost / words, "accuracy": right / words}

    def _mask(self, tokens: Tensor, rate: float, rng: torch.Generator) -> masking.Masked:
        masked = masking.mask(
            tokens,
            self.words,
            mask_id=self.mask_id,
            rate=rate,
            scheme=self.config.scheme,
            rng=rng,
        )
        return masked.to(self.learner.head.bias.device)

    def _moved(self, segments: Tensor) -> Tensor:
        """To where the model is; the data stays where it is large and cheap."""
        return segments.to(self.learner.head.bias.device)


def _at(hidden: Tensor, chosen: Tensor) -> Tensor:
    """The vectors of the chosen places: (b, s, d) to (m, d)."""
    return hidden.flatten(0, 1).index_select(0, chosen.flatten().nonzero()[:, 0])


def _batches(packed: Packed, rows: int) -> Iterator[tuple[Tensor, Tensor]]:
    yield from zip(
        torch.split(packed.tokens, rows), torch.split(packed.segments, rows), strict=True
    )


def _split(
    checkpoint: EncoderCheckpoint, texts: Sequence[str], config: MlmConfig
) -> tuple[Packed, Packed]:
    """What is trained on and what is held out: whole texts, drawn by the seed."""
    if len(texts) < 2:
        raise TrainingError(f"{len(texts)} texts cannot be trained on and measured on; give more")
    order = torch.randperm(len(texts), generator=runtime.seeded(config.training.seed)).tolist()
    held = min(_MOST_HELD_OUT, max(1, round(config.held_out * len(texts))))

    def packed(chosen: Sequence[int]) -> Packed:
        some = [texts[i] for i in chosen]
        rows = data.encode(checkpoint.tokenizer, some, config.length)
        if not rows:
            raise TrainingError(f"{len(some)} of {len(texts)} texts hold no word; give more text")
        return data.pack(rows, config.length, pad_id=checkpoint.model.config.pad_id)

    return packed(order[held:]), packed(order[:held])


def _mask_id(tokenizer: Tokenizer) -> int:
    for token in ("[MASK]", "<mask>"):
        found = tokenizer.id_of(token)
        if found is not None:
            return found
    raise TrainingError("the tokenizer has no [MASK]: words cannot be hidden from this model")


def _require_fit(checkpoint: EncoderCheckpoint, config: MlmConfig) -> None:
    shape = checkpoint.model.config
    if config.length > shape.max_tokens:
        raise TrainingError(
            f"length ({config.length}) is over the encoder's {shape.max_tokens} positions; lower it"
        )
    around = checkpoint.tokenizer.count("")
    if config.length <= around:
        raise TrainingError(
            f"length ({config.length}) must be over the {around} tokens around every text"
        )
    if checkpoint.tokenizer.size > shape.vocab_size:
        raise TrainingError(
            f"the tokenizer has {checkpoint.tokenizer.size} ids and the encoder places for "
            f"{shape.vocab_size}; give vocab_size the tokenizer's size"
        )
