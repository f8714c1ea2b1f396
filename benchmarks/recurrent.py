"""What came before: two LSTMs with one state between them, and the same with attention.

Called as `Seq2Seq.forward` is, so that they learn by the same task.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, Tensor]  # hidden and cell of an LSTM, (b, d) each
Step = Callable[[Tensor], Tensor]  # the last tokens (b, 1) to logits of the next, (b, v)


class Reader(nn.Module):
    """Reads a source from left to right, step by step."""

    def __init__(self, embedding: nn.Embedding, width: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.lstm = nn.LSTM(embedding.embedding_dim, width, batch_first=True)

    def forward(self, source: Tensor, mask: Tensor | None) -> tuple[Tensor, State]:
        """Ids (b, t) and their mask (b, t) to a vector for each, (b, t, d), and the last state."""
        counts = torch.full((len(source),), source.shape[1]) if mask is None else mask.sum(1).cpu()
        x = pack_padded_sequence(
            self.embedding(source), counts, batch_first=True, enforce_sorted=False
        )
        packed, (hidden, cell) = self.lstm(x)
        vectors, _ = pad_packed_sequence(packed, batch_first=True, total_length=source.shape[1])
        return vectors, (hidden[0], cell[0])


class Bottleneck(nn.Module):
    """All that the decoder learns of the source is one state (Sutskever et al. 2014)."""

    def __init__(self, vocabulary: int, d_model: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.reader = Reader(self.embedding, width)
        self.lstm = nn.LSTM(d_model, width, batch_first=True)
        self.out = nn.Linear(width, d_model)

    def forward(self, source: Tensor, mask: Tensor | None, target: Tensor) -> Tensor:
        _, (hidden, cell) = self.reader(source, mask)
        y, _ = self.lstm(self.embedding(target), (hidden[None], cell[None]))
        return self._logits(y)

    def stepping(self, source: Tensor, mask: Tensor | None) -> Step:
        """To decode with: goes one token further at each call."""
        _, (hidden, cell) = self.reader(source, mask)
        state = hidden[None], cell[None]

        def step(tokens: Tensor) -> Tensor:
            nonlocal state
            y, state = self.lstm(self.embedding(tokens), state)
            return self._logits(y)[:, -1]

        return step

    def _logits(self, y: Tensor) -> Tensor:
        return F.linear(self.out(y), self.embedding.weight).float()


class Attending(nn.Module):
    """At every token the decoder weighs all of the source's vectors (Bahdanau et al. 2015, §3.1).

    The score of a place is v · tanh(W s + U h): of what is read so far, and of the place's vector.
    """

    def __init__(self, vocabulary: int, d_model: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.reader = Reader(self.embedding, width)
        self.lstm = nn.LSTMCell(d_model + width, width)
        self.of_state = nn.Linear(width, d_model, bias=False)
        self.of_place = nn.Linear(width, d_model)
        self.score = nn.Linear(d_model, 1, bias=False)
        self.out = nn.Linear(2 * width, d_model)

    def forward(self, source: Tensor, mask: Tensor | None, target: Tensor) -> Tensor:
        step = self.stepping(source, mask)
        return torch.stack([step(target[:, n : n + 1]) for n in range(target.shape[1])], dim=1)

    def stepping(self, source: Tensor, mask: Tensor | None) -> Step:
        """One token further at each call; in training there is no other way either."""
        vectors, state = self.reader(source, mask)
        places = self.of_place(vectors)  # (b, t, d), the same for every step

        def step(tokens: Tensor) -> Tensor:
            nonlocal state
            scores = self.score(torch.tanh(self.of_state(state[0])[:, None] + places))[..., 0]
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            context = (scores.softmax(-1)[:, None] @ vectors)[:, 0]  # (b, d)
            state = self.lstm(torch.cat([self.embedding(tokens[:, 0]), context], -1), state)
            y = self.out(torch.cat([state[0], context], -1))
            return F.linear(y, self.embedding.weight).float()

        return step


@torch.no_grad()
def begin_lstm(model: nn.Module, rng: torch.Generator) -> None:
    """Weights to train from nothing with: gates start open to the past (Gers et al. 2000)."""
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            drawn = torch.randn(parameter.shape, generator=rng)
            fan = parameter.shape[1] if "embedding" in name else sum(parameter.shape) / 2
            parameter.copy_(fan**-0.5 * drawn)
        else:
            parameter.zero_()
        if "bias_ih" in name:
            parameter[len(parameter) // 4 : len(parameter) // 2] = 1.0
