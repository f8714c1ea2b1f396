"""Every stage of training in small. As a module: all of them, each in its folder of FOLDER."""

import sys
from collections.abc import Callable
from pathlib import Path

import torch

from encoder.classify import ClassifierConfig, train_classifier
from encoder.contrast import ContrastConfig, contrast
from encoder.entities import Entity, Tagged
from encoder.examples import Example as Labelled
from encoder.pairs import Graded, Making, Shares, Sources
from encoder.pairs import Pair as Texts
from encoder.pretrain import MlmConfig, pretrain
from encoder.questions import Question
from encoder.reading import ReaderConfig, train_reader
from encoder.tagging import TaggerConfig, train_tagger
from generator import pretrain as causal
from generator.data import Example
from generator.finetune import FinetuneConfig, finetune
from generator.prompts import Message
from generator.seq2seq import Seq2Seq, begin
from generator.seq2seq_config import Seq2SeqConfig
from generator.seq2seq_training import Marks, Pair, Translating
from tests.builders import sentence
from tests.encoder.heads_learning import tiny_encoder
from tests.encoder.learning import documents
from tests.generator.builders import config, generator, loaded, tokenizer
from transformer.byte_pairs import train_byte_pairs
from transformer.corpus_files import Document
from transformer.lora import LoraConfig
from transformer.runtime import seeded
from transformer.training import TrainingConfig, Watch, train

Stage = Callable[[Path, Watch], object]

TRAINING = TrainingConfig(
    steps=6, learning_rate=5e-3, accumulate=4, evaluate_every=3, precision="float32"
)
RUN = "training"  # folder of the run itself, where a stage makes more than that
_WORDS = [sentence(seeded(i), 8, of=40) for i in range(80)]
_LORA = LoraConfig(rank=2)


def masked_words(folder: Path, watch: Watch) -> None:
    how = MlmConfig(TRAINING, length=24, rows=4, dropout=0.1, retromae=True)
    pretrain(tiny_encoder(), _WORDS, how, folder, watch=watch)


def contrasted(folder: Path, watch: Watch) -> None:
    shares = Shares(crops=1, same=1, given=1, graded=1)
    short = Making(shortest=2, longest=4, same_deletion=0.1)
    how = ContrastConfig(TRAINING, shares, short, "attention", batch=8, max_tokens=24)
    sources = Sources(
        documents=[Document(text) for text in _WORDS],
        sentences=_WORDS,
        pairs=[Texts(text, text[4:]) for text in _WORDS],
        graded=[Graded(text, text[4:], i % 5) for i, text in enumerate(_WORDS)],
    )
    contrast(tiny_encoder(), sources, how, folder, watch=watch)


def classifier(folder: Path, watch: Watch) -> None:
    examples = [Labelled(text, "even" if i % 2 == 0 else "odd") for i, text in enumerate(_WORDS)]
    how = ClassifierConfig(max_tokens=20, batch=4, lora=_LORA, training=TRAINING)
    train_classifier(tiny_encoder(), examples, how, folder, watch=watch)


def tagger(folder: Path, watch: Watch) -> None:
    examples = [Tagged(text, (Entity(0, len(text.split()[0]), "PER"),)) for text in _WORDS]
    how = TaggerConfig(max_tokens=20, batch=4, full=True, training=TRAINING)
    train_tagger(tiny_encoder(), examples, how, folder, watch=watch)


def reader(folder: Path, watch: Watch) -> None:
    examples = [Question("w5 w6", text, ((text.split()[0], 0),)) for text in _WORDS]
    how = ReaderConfig(
        max_tokens=20, question_tokens=4, overlap=4, longest=3, batch=4, training=TRAINING
    )
    train_reader(tiny_encoder(), examples, how, folder, watch=watch)


def bare_text(folder: Path, watch: Watch) -> None:
    texts = documents(60)
    words = train_byte_pairs(texts, size=300, specials=causal.SPECIALS)
    made = causal.fresh(config(vocab_size=300), words, seed=0)
    how = causal.CausalConfig(TRAINING, length=48, rows=2, held_out=0.1)
    causal.pretrain(made, texts, how, folder, watch=watch)


def answers(folder: Path, watch: Watch) -> None:
    asked = {"what is it": "a hen", "what was it": "a well", "who is it": "the miller"}
    examples = [Example((Message("user", q),), a) for q, a in asked.items()] * 8
    how = FinetuneConfig(TRAINING, _LORA, length=128, rows=1, held_out=0.2)
    finetune(loaded(generator(), tokenizer()), examples, how, folder, watch=watch)


def translation(folder: Path, watch: Watch) -> None:
    model = Seq2Seq(
        Seq2SeqConfig(
            vocab_size=13,
            d_model=16,
            n_heads=2,
            d_ff=24,
            encoder_layers=1,
            decoder_layers=1,
            max_tokens=12,
        )
    )
    begin(model, seeded(0))
    rows = torch.randint(3, 13, (80, 5), generator=seeded(1)).tolist()
    pairs = [Pair(tuple(row), tuple(row[::-1])) for row in rows]
    task = Translating(model, pairs[8:], pairs[:8], Marks(begin=1, end=2, pad=0), rows=4)
    train(task, TRAINING, folder, watch=watch)


STAGES: tuple[Stage, ...] = (
    masked_words,
    contrasted,
    classifier,
    tagger,
    reader,
    bare_text,
    answers,
    translation,
)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    for stage in STAGES:
        stage(folder / stage.__name__, lambda _: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
