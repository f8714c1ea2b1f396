"""What fewer bits cost: perplexity of a text, a few tokens at a time as in decoding."""

from collections.abc import Sequence
from math import exp
from pathlib import Path

import torch

from benchmarks.table import Row
from generator import Generator, Writer
from generator.precision import Precision
from generator.stepping import Stepper
from transformer.quantize import QuantizedLinear

_BYTES = 20_000
_WINDOW = 512  # tokens that a prediction may look back over
_FEW = 8  # more tokens at once would go through the dense copy of a quantised matrix
_PRECISIONS: tuple[Precision, ...] = ("fp32", "int8", "int4")


def rows(generator: Path, text: str) -> list[Row]:
    """One of each precision: perplexity, and how much it is above that of whole numbers."""
    found: dict[str, float] = {}
    for precision in _PRECISIONS:
        writer = Writer.load(generator, precision)
        ids = writer.tokenizer.encode(text.encode()[:_BYTES].decode(errors="ignore"))
        found[precision] = perplexity(writer.model, ids)
    whole = found["fp32"]
    return [
        {
            "name": f"{name} on 20 kB",
            "perplexity": value,
            "above_fp32_percent": 100 * (value / whole - 1),
        }
        for name, value in found.items()
    ]


@torch.inference_mode()
def perplexity(model: Generator, ids: Sequence[int]) -> float:
    """Of every token but the first of each window."""
    stepper, total, counted = Stepper(model), 0.0, 0
    few = any(isinstance(module, QuantizedLinear) for module in model.modules())
    at_once = _FEW if few else _WINDOW
    for start in range(0, len(ids), _WINDOW):
        window = ids[start : start + _WINDOW]
        cache = model.new_cache(len(window))
        for at in range(0, len(window) - 1, at_once):
            part, after = window[at : at + at_once], window[at + 1 : at + at_once + 1]
            if stepper.rows > 1:
                logits = stepper.step([cache] * len(part), part)
            else:
                logits = model(torch.tensor([part]), cache)[0]
            scores = logits[: len(after)].log_softmax(-1)
            total -= float(scores.gather(1, torch.tensor(after)[:, None]).sum())
            counted += len(after)
    return exp(total / counted)
