"""Classifiers learn, come back from disk as they were, and refuse what does not fit."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch

from encoder import checkpoint
from encoder.classify import Classifier, ClassifierConfig, train_classifier
from encoder.examples import Example
from encoder.headed import ADAPTER, ENCODER, HEAD
from tests.builders import sentence
from tests.encoder.heads_learning import short_run, tiny_encoder
from transformer import lora
from transformer.errors import CheckpointError, TrainingError
from transformer.lora import LoraConfig
from transformer.runtime import seeded
from transformer.training import Moment

CONFIG = ClassifierConfig(
    max_tokens=12, batch=16, held_out=0.2, lora=LoraConfig(rank=4), training=short_run(50)
)


def _examples(n: int = 120) -> list[Example]:
    """ "tea" where w1 is in the text, "milk" where w2 is."""
    rng = seeded(3)
    return [
        Example(f"{sentence(rng, 1 + i % 5, of=35).replace('w1 ', '')} w{1 + i % 2}", label)
        for i, label in enumerate(["tea", "milk"] * (n // 2))
    ]


def _numbers(n: int = 120) -> list[Example]:
    return [Example(f"w{i % 10} w{20 + i % 7}", 10.0 + i % 10) for i in range(n)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Classifier]:
    folder = tmp_path_factory.mktemp("classifier")
    return folder, train_classifier(tiny_encoder(), _examples(), CONFIG, folder, base_name="tiny")


def test_an_adapter_learns_and_the_held_out_figures_are_kept(
    trained: tuple[Path, Classifier],
) -> None:
    _, classifier = trained
    assert classifier.labels == ("milk", "tea")
    assert classifier.metrics["accuracy"] >= 0.95
    assert (classifier.note["learned_from"], classifier.note["held_out"]) == (96, 24)
    said = classifier.classify(["w9 w1", "w9 w2"])
    assert [one.label for one in said] == ["tea", "milk"]
    assert sum(said[0].scores.values()) == pytest.approx(1, abs=1e-5)
    assert said[0].score == max(said[0].scores.values())


def test_it_comes_back_from_its_folder_or_its_file(trained: tuple[Path, Classifier]) -> None:
    folder, classifier = trained
    texts = [each.text for each in _examples(30)]
    expected = [one.scores["tea"] for one in classifier.classify(texts)]
    for path in (folder, folder / ADAPTER):
        loaded = Classifier.load(path, tiny_encoder())
        assert [one.scores["tea"] for one in loaded.classify(texts)] == pytest.approx(
            expected, abs=1e-6
        )
        assert not lora.state(loaded._model)  # folded in: it costs no time


def test_a_text_alone_is_the_text_in_a_batch(trained: tuple[Path, Classifier]) -> None:
    folder, _ = trained
    classifier = Classifier.load(folder, tiny_encoder(), dtype=torch.float32)
    texts = [each.text for each in _examples(40)]
    alone = [classifier.classify([text])[0].score for text in texts]
    assert [one.score for one in classifier.classify(texts)] == pytest.approx(alone, abs=1e-5)
    assert classifier.classify([]) == []


def test_a_text_over_the_limit_is_cut_and_says_so(trained: tuple[Path, Classifier]) -> None:
    _, classifier = trained
    long = "w1 " + "w9 " * 30
    short = "w1 " + "w9 " * 9  # 12 tokens with those around
    one, other = classifier.classify([long, short])
    assert (one.cut, other.cut) == (True, False)
    assert one.scores == pytest.approx(other.scores)


def test_the_base_that_was_handed_over_stays_as_it_is(tmp_path: Path) -> None:
    base, untouched = tiny_encoder(), tiny_encoder()
    config = dataclasses.replace(CONFIG, full=True, training=short_run(3))
    train_classifier(base, _examples(), config, tmp_path)
    for name, parameter in base.model.named_parameters():
        assert torch.equal(parameter, untouched.model.state_dict()[name]), name
        assert parameter.grad is None


def test_everything_may_learn_and_is_saved_whole(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, full=True, training=short_run(40, 5e-3))
    classifier = train_classifier(tiny_encoder(), _examples(), config, tmp_path)
    assert classifier.metrics["accuracy"] >= 0.95
    assert not (tmp_path / ADAPTER).exists()
    assert (tmp_path / HEAD).is_file()
    moved = checkpoint.load(tmp_path / ENCODER).model.embedding.weight
    assert not torch.equal(moved, tiny_encoder().model.embedding.weight)
    again = Classifier.load(tmp_path)
    assert again.classify(["w1"])[0].scores == pytest.approx(
        classifier.classify(["w1"])[0].scores, abs=1e-6
    )


def test_a_text_that_stands_twice_is_not_learned_from_and_judged_on(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, training=short_run(1))
    some_twice = [*_examples(40), *_examples(40)[:20]]
    classifier = train_classifier(tiny_encoder(), some_twice, config, tmp_path)
    assert classifier.note["learned_from"] == 48
    assert 0 < classifier.note["held_out"] < 12


def test_numbers_are_learned_on_their_own_scale(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, task="regression", training=short_run(80))
    classifier = train_classifier(tiny_encoder(), _numbers(), config, tmp_path)
    assert classifier.metrics["pearson"] > 0.9
    low, high = classifier.classify(["w0 w22", "w9 w22"])
    assert low.label is None
    assert low.scores == {}
    assert low.score < 13 < 16 < high.score


def test_an_error_is_told_in_the_unit_of_the_numbers(tmp_path: Path) -> None:
    examples = [Example(f"w{i}", 1000.0 * (i % 10)) for i in range(40)]
    config = dataclasses.replace(CONFIG, task="regression", training=short_run(1))
    classifier = train_classifier(tiny_encoder(), examples, config, tmp_path)
    assert 1000 < classifier.metrics["absolute_error"] < 5000  # as of who always says the mean


def test_pairs_apart_are_compared(tmp_path: Path) -> None:
    words = [(i % 6, (i // 6) % 6) for i in range(144)]
    examples = [Example(f"w{a}", "same" if a == b else "other", f"w{b}") for a, b in words]
    config = dataclasses.replace(CONFIG, apart=True, training=short_run(60))
    classifier = train_classifier(tiny_encoder(), examples, config, tmp_path)
    said = classifier.classify(["w1", "w1"], ["w1", "w4"])
    assert [one.label for one in said] == ["same", "other"]


def test_pairs_joined_are_read_in_their_order(tmp_path: Path) -> None:
    rng = seeded(1)
    examples = []
    for i in range(120):
        texts = [f"{sentence(rng, 2, of=20)} w30", sentence(rng, 3, of=20)]
        first, second = texts if i % 2 else texts[::-1]
        examples.append(Example(first, "first" if i % 2 else "second", second))
    config = dataclasses.replace(CONFIG, training=short_run(80))
    classifier = train_classifier(tiny_encoder(), examples, config, tmp_path)
    said = classifier.classify(["w3 w7 w30", "w3 w7 w2"], ["w1 w2 w4", "w1 w2 w30"])
    assert [one.label for one in said] == ["first", "second"]
    with pytest.raises(ValueError, match="was trained on pairs of texts"):
        classifier.classify(["w1"])


def test_single_texts_are_no_pairs(trained: tuple[Path, Classifier]) -> None:
    with pytest.raises(ValueError, match="was trained on single texts"):
        trained[1].classify(["w1"], ["w2"])


def test_only_the_last_layers_may_learn(tmp_path: Path) -> None:
    config = dataclasses.replace(
        CONFIG, lora=LoraConfig(rank=4, last_layers=1), training=short_run(2)
    )
    train_classifier(tiny_encoder(), _examples(), config, tmp_path)
    changed = lora.read(tmp_path / ADAPTER).tensors
    assert {name.split(".")[1] for name in changed} == {"1"}


def test_a_killed_run_goes_on_to_the_same_classifier(
    tmp_path: Path, trained: tuple[Path, Classifier]
) -> None:
    def stop(moment: Moment) -> None:
        if moment.step == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_classifier(tiny_encoder(), _examples(), CONFIG, tmp_path, watch=stop)
    assert not (tmp_path / ADAPTER).exists()
    steps: list[int] = []
    train_classifier(
        tiny_encoder(),
        _examples(),
        CONFIG,
        tmp_path,
        base_name="tiny",
        watch=lambda moment: steps.append(moment.step),
    )
    assert steps[0] == 21
    again = Classifier.load(tmp_path, tiny_encoder()).classify(["w1 w5", "w2 w5"])
    told = trained[1].classify(["w1 w5", "w2 w5"])
    assert [one.score for one in again] == pytest.approx([one.score for one in told], abs=1e-6)


def test_nothing_is_overwritten(trained: tuple[Path, Classifier]) -> None:
    folder, _ = trained
    before = (folder / ADAPTER).read_bytes()
    with pytest.raises(TrainingError, match=r"holds a finished model.*give another folder"):
        train_classifier(tiny_encoder(), _examples(), CONFIG, folder)
    assert (folder / ADAPTER).read_bytes() == before


def test_a_kill_between_its_two_files_is_made_up_for(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, full=True, training=short_run(3))
    train_classifier(tiny_encoder(), _examples(), config, tmp_path)
    whole = {file: file.read_bytes() for file in (tmp_path / ENCODER).iterdir()}
    with pytest.raises(TrainingError, match=r"holds a finished model \(encoder\)"):
        train_classifier(tiny_encoder(), _examples(), config, tmp_path)
    shutil.rmtree(tmp_path / ENCODER)
    train_classifier(tiny_encoder(), _examples(), config, tmp_path)
    assert {file: file.read_bytes() for file in (tmp_path / ENCODER).iterdir()} == whole


def test_another_base_is_refused(trained: tuple[Path, Classifier]) -> None:
    other = dataclasses.replace(tiny_encoder(), fingerprint="f" * 16)
    with pytest.raises(CheckpointError, match=r"f{16}"):
        Classifier.load(trained[0], other)
    with pytest.raises(CheckpointError, match=r"is an adapter for the model 0{16}: name that"):
        Classifier.load(trained[0])


def test_what_is_no_classifier_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds neither adapter\.safetensors nor head"):
        Classifier.load(tmp_path, tiny_encoder())
    (tmp_path / ADAPTER).write_bytes(b"nothing of the kind")
    with pytest.raises(CheckpointError, match=r"adapter\.safetensors"):
        Classifier.load(tmp_path, tiny_encoder())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_tokens": 4}, r"max_tokens \(4\) must be at least 8"),
        ({"batch": 0}, r"batch \(0\)"),
        ({"held_out": 1.0}, r"held_out \(1.0\) must lie between 0 and 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ClassifierConfig(**settings)  # type: ignore[arg-type]
