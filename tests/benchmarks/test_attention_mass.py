"""What heads look at: against the weights of an ordinary pass, taken down where they are made."""

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks.attention_mass import attention_masses
from tests.generator.builders import generator
from tests.generator.test_attribute import ANSWER, SOURCES, caches
from transformer import attention
from transformer.attention import attend, attention_weights


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_masses_are_the_weights_of_an_ordinary_pass(
    positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = caches(generator(max_tokens=512, positions=positions))
    seen: list[Tensor] = []

    def watched(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
        seen.append(attention_weights(q, k, mask)[0, :, -len(ANSWER) :].mean(1))
        return attend(q, k, v, mask, causal=causal)

    asked = of.question("Where?")
    tokens = torch.tensor([[*asked, *ANSWER[:-1]]])
    cache = of.assemble(SOURCES, tokens.shape[1])
    start, stop = len(of.frame.head), cache.length
    with torch.inference_mode(), monkeypatch.context() as patched:
        patched.setattr(attention, "attend", watched)
        of.model.hidden(tokens, cache)

    found = attention_masses(of, "Where?", SOURCES, ANSWER)

    assert found.shape == (3, 12)  # two layers of six heads
    assert (found > 0).all()
    whole = torch.stack([weights[:, start:stop].sum(-1) for weights in seen]).flatten()
    np.testing.assert_allclose(found.sum(0), whole.numpy(), atol=1e-5)
    first = start + len(of.passage(SOURCES[0])[0])
    alone = torch.stack([weights[:, start:first].sum(-1) for weights in seen]).flatten()
    np.testing.assert_allclose(found[0], alone.numpy(), atol=1e-5)
