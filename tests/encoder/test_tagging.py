"""A tagger learns names, reads long texts whole, and comes back from disk as it was."""

from pathlib import Path

import pytest

from encoder.classify import Classifier
from encoder.entities import Entity, Tagged
from encoder.headed import begin
from encoder.heads import TokenHead
from encoder.tagging import Tagger, TaggerConfig, _Task, train_tagger
from tests.encoder.heads_learning import TINY, short_run, tiny_encoder
from transformer.errors import CheckpointError, TrainingError
from transformer.lora import LoraConfig
from transformer.runtime import seeded

CONFIG = TaggerConfig(
    max_tokens=12, batch=16, held_out=0.2, lora=LoraConfig(rank=4), training=short_run(80)
)


def _examples(n: int = 150) -> list[Tagged]:
    """Two words together from w1 to w3 are a PER, one of w4 and w5 a LOC."""
    import torch

    rng = seeded(2)
    made = []
    for _ in range(n):
        a, b, c, d, e = (int(torch.randint(10, 40, (1,), generator=rng)) for _ in range(5))
        first, second = (int(torch.randint(1, 4, (1,), generator=rng)) for _ in range(2))
        place = int(torch.randint(4, 6, (1,), generator=rng))
        text = f"w{a} w{b} w{first} w{second} w{c} w{d} w{place} w{e}"
        made.append(Tagged(text, (Entity(8, 13, "PER"), Entity(22, 24, "LOC"))))
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tagger]:
    folder = tmp_path_factory.mktemp("tagger")
    return folder, train_tagger(tiny_encoder(), _examples(), CONFIG, folder)


def test_names_are_learned(trained: tuple[Path, Tagger]) -> None:
    _, tagger = trained
    assert tagger.kinds == ("LOC", "PER")
    assert tagger.note["metrics"]["f1"] >= 0.95
    assert tagger.tag(["w20 w21 w2 w3 w22 w23 w4 w24", ""]) == [
        (Entity(8, 13, "PER"), Entity(22, 24, "LOC")),
        (),
    ]


def test_a_text_longer_than_a_row_is_read_to_its_end(trained: tuple[Path, Tagger]) -> None:
    text = " ".join(["w20 w21 w2 w3 w22 w23 w4 w24 w25 w26"] * 5)  # rows of 10 words each
    (found,) = trained[1].tag([text])
    assert len(found) == 10
    assert {text[each.start : each.end] for each in found} == {"w2 w3", "w4"}


def test_it_comes_back_and_is_no_classifier(trained: tuple[Path, Tagger]) -> None:
    folder, tagger = trained
    texts = [each.text for each in _examples(20)]
    assert Tagger.load(folder, tiny_encoder()).tag(texts) == tagger.tag(texts)
    with pytest.raises(CheckpointError, match="holds a 'tagger', not a classifier"):
        Classifier.load(folder, tiny_encoder())


def test_what_is_held_out_is_not_learned_from() -> None:
    base, examples = tiny_encoder(), _examples(20)
    model = begin(base, TokenHead(TINY.d_model, 5), None, seeded(0))
    task = _Task(model, base.tokenizer, [*examples, *examples[:5]], ("LOC", "PER"), 12, CONFIG)
    learned = {task.examples[row.text].text for row in task.rows}
    held = {task.examples[i].text for i in task.held}
    assert held
    assert not learned & held
    assert {row.text for row in task.held_rows} == set(task.held)


def test_texts_without_entities_teach_nothing(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="1 texts with 0 kinds of entities"):
        train_tagger(tiny_encoder(), [Tagged("w1", ())], CONFIG, tmp_path)
