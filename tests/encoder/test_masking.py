"""Masking, counted."""

import pytest
import torch
from torch import Tensor

from encoder import masking
from encoder.masking import Masked, Scheme
from transformer.runtime import seeded

SPECIALS = torch.tensor([0, 1, 2, 3, 4])
MASK, SIZE = 4, 105
WORDS = masking.ordinary(SIZE, SPECIALS)


def _tokens(rows: int = 400, width: int = 50) -> Tensor:
    """[CLS], words, [SEP], and padding from the middle of every second row."""
    tokens = torch.randint(5, SIZE, (rows, width), generator=seeded(1))
    tokens[:, 0], tokens[:, -1] = 2, 3
    tokens[::2, width // 2 :] = 0
    return tokens


def _mask(tokens: Tensor, rate: float, scheme: Scheme, seed: int = 0) -> Masked:
    return masking.mask(tokens, WORDS, mask_id=MASK, rate=rate, scheme=scheme, rng=seeded(seed))


def test_ordinary_ids_are_all_but_the_specials() -> None:
    assert WORDS.tolist() == list(range(5, SIZE))
    assert masking.ordinary(6, torch.tensor([3, 0])).tolist() == [1, 2, 4, 5]


@pytest.mark.parametrize("scheme", ["all", "mixed"])
@pytest.mark.parametrize("rate", [0.15, 0.3, 0.6])
def test_the_rate_is_a_share_of_the_words(rate: float, scheme: Scheme) -> None:
    tokens = _tokens()
    masked = _mask(tokens, rate, scheme)
    words = int((tokens > 4).sum())
    assert int(masked.chosen.sum()) / words == pytest.approx(rate, abs=0.015)


@pytest.mark.parametrize("scheme", ["all", "mixed"])
def test_specials_and_padding_are_never_chosen_nor_changed(scheme: Scheme) -> None:
    tokens = _tokens()
    masked = _mask(tokens, 0.9, scheme)
    special = tokens <= 4
    assert not masked.chosen[special].any()
    assert torch.equal(masked.tokens[special], tokens[special])


@pytest.mark.parametrize("scheme", ["all", "mixed"])
def test_labels_are_what_stood_there_and_the_rest_stays(scheme: Scheme) -> None:
    tokens = _tokens()
    before = tokens.clone()
    masked = _mask(tokens, 0.3, scheme)
    assert torch.equal(tokens, before)
    assert torch.equal(masked.labels, tokens[masked.chosen])
    assert torch.equal(masked.tokens[~masked.chosen], tokens[~masked.chosen])


def test_all_hides_whatever_is_chosen() -> None:
    masked = _mask(_tokens(), 0.3, "all")
    assert (masked.tokens[masked.chosen] == MASK).all()


def test_mixed_is_80_10_10() -> None:
    masked = _mask(_tokens(), 0.6, "mixed")
    now = masked.tokens[masked.chosen]
    hidden, kept = now == MASK, now == masked.labels
    others = ~hidden & ~kept
    shares = [float(part.float().mean()) for part in (hidden, kept, others)]
    # A word by chance is the right one once in a hundred.
    assert shares == pytest.approx([0.8, 0.101, 0.099], abs=0.015)
    assert len(now[others].unique()) == len(WORDS)  # any word, and only words
    assert (now[others] > 4).all()


def test_the_rng_decides() -> None:
    tokens = _tokens()
    assert torch.equal(_mask(tokens, 0.3, "mixed", 1).tokens, _mask(tokens, 0.3, "mixed", 1).tokens)
    assert not torch.equal(
        _mask(tokens, 0.3, "mixed", 1).tokens, _mask(tokens, 0.3, "mixed", 2).tokens
    )


def test_of_any_text_at_least_one_word_is_chosen() -> None:
    for seed in range(20):
        assert int(_mask(torch.tensor([[2, 9, 3, 0]]), 0.01, "all", seed).chosen.sum()) == 1
    assert not _mask(torch.tensor([[2, 3, 0, 0]]), 0.5, "all").chosen.any()
