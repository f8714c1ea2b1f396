"""Causal language modelling: a generator learns a language from bare text (Radford et al. 2018)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generator import data
from generator.chat import ChatFormat
from generator.checkpoint import GeneratorCheckpoint
from generator.config import GeneratorConfig
from generator.data import Rows
from generator.decoding import decode
from generator.finetune import require_whole
from generator.learning import NextToken, split_held_out
from generator.model import Generator
from generator.sampling import Sampling
from transformer import runtime
from transformer.errors import TrainingError
from transformer.init import initialise
from transformer.tokenizer import Tokenizer
from transformer.training import Trained, TrainingConfig, Watch, train

TEXT_END, TURN_START, TURN_END = SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_MOST_HELD_OUT = 400  # texts: more would take time from training and tell no more
_SAMPLES = 5
_BEGINNING = 40  # characters of a held-out text that a sample goes on from, to the next word
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class CausalConfig:
    """Defaults are those of a first run on a few processor cores."""

    training: TrainingConfig
    length: int = 256  # tokens of a row, which several texts may share
    rows: int = 8  # of a batch
    held_out: float = 0.02  # share of the texts that is measured on and never trained on

    def __post_init__(self) -> None:
        for name, least in (("length", 2), ("rows", 1)):
            if (size := getattr(self, name)) < least:
                raise ValueError(f"{name} ({size}) must be at least {least}")
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out ({self.held_out}) must lie between 0 and 1")


def fresh(config: GeneratorConfig, tokenizer: Tokenizer, *, seed: int) -> GeneratorCheckpoint:
    """A generator that knows nothing yet, and is spoken to in turns.

    Args:
        config: of the model
        tokenizer: with the tokens of `SPECIALS`
        seed: of the weights
    """
    model = Generator(config)
    initialise(model, runtime.seeded(seed))
    ids = [tokenizer.id_of(token) for token in (TEXT_END, TURN_END)]
    chat = ChatFormat(_TEMPLATE, "", TURN_END, tuple(sorted(i for i in ids if i is not None)))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return GeneratorCheckpoint(model.eval(), tokenizer, chat, "", parameters)


def pretrain(
    checkpoint: GeneratorCheckpoint,
    texts: Sequence[str],
    config: CausalConfig,
    folder: Path,
    *,
    watch: Watch = lambda _: None,
) -> Trained:
    """Train a generator, fresh or loaded in precision fp32, in place; or go on with `folder`.

    Args:
        checkpoint: its model is trained
        texts: documents
        config: of a resumed run it must be the same, budgets aside
        folder: for the state of the run
        watch: told of every step

    Returns:
        metrics `log_likelihood` of a held-out token, which is the loss with its sign turned,
        `accuracy`, the share of them that came first, `begun_right`, of the first of each text or
        piece of one, and `perplexity`

    Raises:
        TrainingError: the texts or the sizes do not fit the model, or the numbers went wrong.
    """
    require_whole(checkpoint)
    checkpoint.model.requires_grad_(True)
    kept, held = _split(texts, config)
    learned, judged = (_packed(checkpoint, some, config) for some in (kept, held))
    task = NextToken(checkpoint.model, learned, judged, rows=config.rows)
    return train(task, config.training, folder, watch=watch)


def samples(
    checkpoint: GeneratorCheckpoint, texts: Sequence[str], config: CausalConfig
) -> Iterator[tuple[str, str]]:
    """Beginnings of held-out texts, and how the model goes on."""
    sampling = Sampling(max_tokens=60, temperature=0.8, top_p=0.9)
    _, held = _split(texts, config)
    end = _end(checkpoint)
    for number, text in enumerate(held[:_SAMPLES]):
        beginning = text[: text.find(" ", _BEGINNING)] if " " in text[_BEGINNING:] else text
        prompt = [end, *checkpoint.tokenizer.encode(beginning)]
        room = checkpoint.model.config.max_tokens - sampling.max_tokens
        tokens = decode(
            checkpoint.model,
            prompt[: max(1, room)],
            sampling,
            ends=[end],
            rng=runtime.seeded(config.training.seed + number),
        )
        yield beginning, checkpoint.tokenizer.decode(list(tokens))


def _split(texts: Sequence[str], config: CausalConfig) -> tuple[list[str], list[str]]:
    if len(texts) < 2:
        raise TrainingError(f"{len(texts)} texts cannot be trained on and measured on; give more")
    kept, held = split_held_out(len(texts), config.held_out, config.training.seed, _MOST_HELD_OUT)
    return [texts[i] for i in kept], [texts[i] for i in held]


def _packed(checkpoint: GeneratorCheckpoint, texts: Sequence[str], config: CausalConfig) -> Rows:
    limit = checkpoint.model.config.max_tokens
    if config.length > limit:
        raise TrainingError(
            f"length ({config.length}) is over the generator's {limit} positions; lower it"
        )
    end = _end(checkpoint)
    return data.pack(
        data.encode_texts(checkpoint.tokenizer, texts, config.length, end=end), config.length
    )


def _end(checkpoint: GeneratorCheckpoint) -> int:
    """The token that stands between texts."""
    found = checkpoint.tokenizer.id_of(TEXT_END)
    if found is None:
        found = min(checkpoint.chat.ends, default=None)
    if found is None:
        raise TrainingError(
            f"the model has no token that ends a text, such as {TEXT_END}: it could not learn "
            "where one begins"
        )
    return found
