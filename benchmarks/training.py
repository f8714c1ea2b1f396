"""Tokens a second while an encoder is trained, and their share of what the processor could do.

The work is masked language modelling: rows of 128 tokens, 32 a step. The peers are the usual loop
over the Hugging Face model of the same weights, with the same optimiser and the same rows.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch

from benchmarks.passages import passages, source_texts
from benchmarks.rounds import Spread
from benchmarks.table import Cell, Row, Table
from encoder import checkpoint
from encoder.pretrain import MlmConfig, pretrain
from transformer import runtime
from transformer.task import Precision
from transformer.training import Moment, TrainingConfig

_LENGTH, _ROWS, _RATE = 128, 32, 0.3
_WARM = 2  # steps that do not count
_TARGET = 0.45  # of the peak


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a contender."""

    seconds: float
    tokens: int


def measure(
    *, encoder: Path, data: Path | None, steps: int, threads: int, peers: bool = True
) -> Table:
    """Rates of our loop in both number formats, and of the peers.

    Args:
        encoder: a checkpoint folder that the Hugging Face library reads too
        data: folder of public corpora
        steps: that count, of each contender
        threads: of each contender
        peers: measure them too
    """
    torch.set_num_threads(threads)
    count = checkpoint.load(encoder).tokenizer.count
    source, found = source_texts(data)
    # One is held out; the others fill two whole batches.
    texts = passages(found, 1 + 2 * _ROWS, tokens=_LENGTH, count=count)
    runs: dict[str, Callable[[], Iterable[Step]]] = {
        "attest bfloat16": lambda: _ours(encoder, texts, steps, "bfloat16"),
        "attest float32": lambda: _ours(encoder, texts, steps, "float32"),
    }
    if peers:
        runs["transformers fp32"] = lambda: _theirs(encoder, texts, steps, autocast=False)
        runs["transformers bf16 autocast"] = lambda: _theirs(encoder, texts, steps, autocast=True)
    peak = runtime.matrix_peak(torch.bfloat16)
    matrices = sum(p.numel() for n, p in _blocks(encoder).items() if p.ndim > 1)
    rows = [_row(name, list(run()), 6 * matrices / peak) for name, run in runs.items()]
    return Table(
        "training",
        f"Training: masked words, {_ROWS} rows of {_LENGTH} tokens a step, {source}, "
        f"{threads} threads",
        tuple(rows),
        (
            f"peak: {peak / 1e9:.0f} GFLOP/s in bfloat16; a token is 6 operations for each of "
            f"{matrices:,} weights in the blocks, the head of words not counted",
        ),
    )


def _blocks(encoder: Path) -> Mapping[str, torch.Tensor]:
    return dict(checkpoint.load(encoder).model.blocks.named_parameters())


def _row(name: str, steps: Sequence[Step], share_of_a_token: float) -> Row:
    rates = [step.tokens / step.seconds for step in steps[_WARM:]]
    spread = Spread.of(rates)
    row: dict[str, Cell] = {
        "name": name,
        "tokens_per_s": spread,
        "share_of_peak": spread.median * share_of_a_token,
    }
    if name == "attest bfloat16":
        row["target"] = _TARGET
    return row


def _ours(encoder: Path, texts: Sequence[str], steps: int, precision: Precision) -> Iterable[Step]:
    moments: list[Moment] = []
    # Steps are told by their ends, and the last one's comes behind an evaluation.
    training = TrainingConfig(steps=steps + _WARM + 2, learning_rate=1e-5, precision=precision)
    config = MlmConfig(training=training, rate=_RATE, length=_LENGTH, rows=_ROWS, held_out=0.02)
    with tempfile.TemporaryDirectory() as folder:
        pretrain(checkpoint.load(encoder), texts, config, Path(folder), watch=moments.append)
    for before, after in pairwise(moments[:-1]):
        yield Step(60 * (after.minutes - before.minutes), after.tokens)


def _theirs(encoder: Path, texts: Sequence[str], steps: int, *, autocast: bool) -> Iterable[Step]:
    from transformers import AutoTokenizer, BertForMaskedLM

    model = BertForMaskedLM.from_pretrained(encoder, dtype=torch.float32).train()
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    rows = tokenizer(
        list(texts), truncation=True, max_length=_LENGTH, padding=True, return_tensors="pt"
    )
    rng = runtime.seeded(0)
    for _ in range(steps + _WARM):
        began = time.perf_counter()
        at = torch.randperm(len(texts), generator=rng)[:_ROWS]
        ids, mask = rows["input_ids"][at], rows["attention_mask"][at]
        hidden = (torch.rand(ids.shape, generator=rng) < _RATE) & mask.bool()
        labels = ids.masked_fill(~hidden, -100)
        given = ids.masked_fill(hidden, tokenizer.mask_token_id)
        with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
            loss = model(input_ids=given, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield Step(time.perf_counter() - began, int(mask.sum()))
