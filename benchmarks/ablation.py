"""`python -m benchmarks.ablation`: what each part of an encoder is worth, on the same minutes.

A tiny encoder is trained by masked language modelling in every combination of positions and norms,
then without single parts: these are taken out of the finished model here, for the product has no
options that nobody should use.
"""

import copy
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from torch import Tensor, nn

from benchmarks import lengths, similarity
from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, as_json, show
from encoder import Embedder, EmbeddingConfig, Encoder, EncoderConfig, data, metrics
from encoder.checkpoint import EncoderCheckpoint
from encoder.config import Pooling, Positions
from encoder.pretrain import Masking, MlmConfig
from transformer import runtime
from transformer.attention import Attention
from transformer.block import Block
from transformer.init import initialise
from transformer.tokenizer import Tokenizer
from transformer.tokenizer_training import train_tokenizer
from transformer.training import TrainingConfig, train

LENGTH, PAST = 64, 256  # tokens that are trained on; tokens of the texts that go past them
_LONG = 60  # texts of more than PAST tokens, kept from training
_POSITIONS: tuple[Positions, ...] = ("none", "sinusoidal", "learned", "rotary")
_DATA = SAMPLES.parent.parent / "shared" / "data"
_TEXT = Path("lm_text", "en_wiki.txt")
_NOTES = (
    "loss: of hidden words, held out; on rows of 64 tokens, as they were trained",
    f"loss 64 / 256: of the same long texts, cut to {LENGTH} tokens and to {PAST}",
    "STS-B: 100 times Spearman on dev, by the mean and by the first token of one and the same "
    "model: masking does not train the first token's vector",
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A model, and what is done to it before it is trained."""

    name: str
    config: EncoderConfig
    change: Callable[[Encoder], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Corpus:
    """The same text for everyone."""

    tokenizer: Tokenizer
    texts: Sequence[str]
    long: Sequence[str]  # never trained on
    pairs: similarity.Similarity | None


class Unscaled(nn.Module):
    """Takes the division by the root of the head's width back, which `attend` will do."""

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.factor = head_width**0.5

    def forward(self, q: Tensor) -> Tensor:
        return torch.mul(q, self.factor)


class Nothing(nn.Module):
    """A part that adds nothing."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class WithoutResiduals(nn.Module):
    """A pre-norm block whose parts see only what the part before made."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor, *, mask: Tensor | None, rotation: object) -> Tensor:
        block = self.block
        x = block.attention(block.attention_norm(x), mask=mask, rotation=rotation)
        return block.feed_forward(block.feed_forward_norm(x))  # type: ignore[no-any-return]


def unscale(model: Encoder) -> None:
    for module in model.modules():
        if isinstance(module, Attention):
            module.q_norm, module.k_norm = Unscaled(module.head_width), nn.Identity()


def cut_residuals(model: Encoder) -> None:
    for i, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        model.blocks[i] = WithoutResiduals(block)


def drop_feed_forward(model: Encoder) -> None:
    for block in model.blocks:
        block.feed_forward = Nothing()


def variants(base: EncoderConfig) -> Iterator[Variant]:
    """Every combination, then the last of them with one part less each."""
    for pre_norm in (False, True):
        norm = "pre-norm" if pre_norm else "post-norm"
        for positions in _POSITIONS:
            config = replace(base, positions=positions, pre_norm=pre_norm)
            yield Variant(f"{positions}, {norm}", config)
    yield Variant("… without √d scaling", config, unscale)
    yield Variant("… without residuals", config, cut_residuals)
    yield Variant("… without feed-forward", config, drop_feed_forward)
    yield Variant("… with 1 head", replace(config, n_heads=1))


def measure(corpus: Corpus, base: EncoderConfig, training: TrainingConfig) -> Table:
    """One row a variant, each trained from nothing as long as the others."""
    rows = []
    for variant in variants(base):
        rows.append(_row(variant, corpus, training))
        typer.echo(", ".join(f"{key} {value}" for key, value in rows[-1].items()), err=True)
    budget = f"{training.minutes:g} minutes" if training.minutes else f"{training.steps} steps"
    title = f"Ablation: {budget} each, {base.n_layers} layers, {base.d_model} wide"
    return Table("ablation", title, tuple(rows), _NOTES)


def _row(variant: Variant, corpus: Corpus, training: TrainingConfig) -> Row:
    model = Encoder(variant.config)
    initialise(model, runtime.seeded(training.seed))
    variant.change(model)
    embedding = EmbeddingConfig(max_tokens=variant.config.max_tokens)
    checkpoint = EncoderCheckpoint(model, corpus.tokenizer, embedding, "")
    config = MlmConfig(training, length=LENGTH)
    task = Masking(checkpoint, corpus.texts, config)
    with tempfile.TemporaryDirectory() as folder:
        trained = train(task, training, Path(folder))
    return {
        "name": variant.name,
        "steps": trained.steps,
        "loss": -trained.metrics["log_likelihood"],
        "accuracy_%": 100 * trained.metrics["accuracy"],
        **{f"loss_{n}": _loss(task, corpus, n) for n in (LENGTH, PAST)},
        **_sts(checkpoint, corpus),
    }


@torch.inference_mode()
def _loss(task: Masking, corpus: Corpus, length: int) -> float:
    """Of the long texts' beginnings, one in a row."""
    rows = [row[:length] for row in corpus.tokenizer.encode_for_model(corpus.long)]
    pad_id = task.learner.encoder.config.pad_id
    return -task.measure(data.pack(rows, length, pad_id=pad_id))["log_likelihood"]


def _sts(checkpoint: EncoderCheckpoint, corpus: Corpus) -> dict[str, float]:
    if corpus.pairs is None:
        return {}
    found = {}
    poolings: tuple[Pooling, ...] = ("mean", "cls")
    for how in poolings:
        embedder = Embedder(
            copy.deepcopy(checkpoint.model),
            checkpoint.tokenizer,
            replace(checkpoint.embedding, pooling=how),
            fingerprint="",
            dtype=torch.float32,
        )
        left, right = (
            embedder.embed_documents(side) for side in (corpus.pairs.left, corpus.pairs.right)
        )
        grades = corpus.pairs.grades
        found[f"STS-B_{how}"] = 100 * metrics.spearman(metrics.cosines(left, right), grades)
    return found


def read(folder: Path, *, vocabulary: int = 8000) -> Corpus:
    """The English text and the pairs out of the folder of public data."""
    lines = (folder / _TEXT).read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()]
    tokenizer = train_tokenizer(texts, kind="wordpiece", size=vocabulary, lowercase=True)
    counts = [len(row) for row in tokenizer.encode_for_model(texts)]
    long = [i for i, count in enumerate(counts) if count > PAST][:_LONG]
    kept = [text for i, text in enumerate(texts) if i not in set(long)]
    graded = (folder / "stsb_en").is_dir()
    pairs = similarity.read(folder, "stsb", "dev") if graded else None
    return Corpus(tokenizer, kept, [texts[i] for i in long], pairs)


def small(vocabulary: int) -> EncoderConfig:
    """What is trained; its place tables go past the trained length."""
    return EncoderConfig(
        vocab_size=vocabulary,
        d_model=128,
        n_layers=4,
        n_heads=4,
        d_ff=512,
        max_tokens=PAST,
        norm_eps=1e-5,
    )


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    minutes: Annotated[float, typer.Option(help="Of training, for each combination.")] = 3.0,
    folder: Annotated[Path, typer.Option("--data", help="Folder of public data.")] = _DATA,
    output: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
    drawings: Annotated[
        Path | None, typer.Option(help="Write time.svg and memory.svg by length in here.")
    ] = None,
    most: Annotated[int, typer.Option(help="Tokens of the longest text that is drawn.")] = 4096,
) -> None:
    """Train every combination on the same text, and measure attention against length."""
    console = Console(width=None if Console().is_terminal else 160)
    if not (folder / _TEXT).is_file():
        raise typer.BadParameter(f"{folder / _TEXT} is not there: name a folder with --data")
    corpus = read(folder)
    training = TrainingConfig(minutes=minutes, learning_rate=1e-3)
    tables = [measure(corpus, small(corpus.tokenizer.size), training)]
    show(tables[0], console)
    tables.append(lengths.measure(most=most))
    show(tables[1], console)
    if drawings is not None:
        drawings.mkdir(parents=True, exist_ok=True)
        for name, drawing in lengths.draw(tables[1]).items():
            (drawings / f"{name}.svg").write_text(drawing, encoding="utf-8")
    if output is not None:
        figures = {table.name: as_json(table) for table in tables}
        output.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


if __name__ == "__main__":
    app()
