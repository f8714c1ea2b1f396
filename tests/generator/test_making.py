"""One config file to a finished generator: every stage, in order, once, and again after an end."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from generator import checkpoint, making
from generator.training_config import read
from tests.encoder.learning import documents, texts_file
from transformer import lora, processes
from transformer.errors import ConfigError, TrainingError
from transformer.packaged import FILE
from transformer.processes import Processes
from transformer.staged import Finished, Watching
from transformer.training import Moment, Watch

CONFIGS = Path(__file__).parents[2] / "configs"
TINY = CONFIGS / "generator-tiny.toml"


class Stop(Exception):
    """What a test's watcher ends a stage with."""


def examples_file(folder: Path) -> Path:
    """Questions whose answer is a sentence of one of two passages."""
    rows = []
    for first, second in zip(documents(24, seed=1), documents(24, seed=2), strict=True):
        texts = [text.split(".")[0] for text in (first, second)]
        passages = [f"Passage {n}:\n{text}" for n, text in enumerate(texts, start=1)]
        answer = f'Passage 2: "{texts[1]}"'
        rows.append({"passages": passages, "question": "Question: it?", "answer": answer})
    file = folder / "examples.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """Settings that make the tiny config tinier still."""
    return [
        f"data.texts={json.dumps([str(texts_file(tmp_path))])}",
        f"data.examples={json.dumps([str(examples_file(tmp_path))])}",
        "pretrain.training.steps=20",
        "finetune.training.steps=12",
        "finetune.training.evaluate_every=6",
    ]


def _seen(stages: list[str], *, until: tuple[str, int] | None = None) -> Watching:
    @contextmanager
    def of(stage: str) -> Iterator[Watch]:
        stages.append(stage)

        def watch(moment: Moment) -> None:
            if (stage, moment.step) == until:
                raise Stop

        yield watch

    return of


def _losses(done: Finished, stage: str) -> list[float]:
    work = done.folder.with_name(f"{done.folder.name}.training")
    lines = (work / stage / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["loss"] for line in lines]


def test_every_stage_runs_and_learns_and_leaves_a_generator(
    tmp_path: Path, given: list[str]
) -> None:
    stages: list[str] = []
    done = making.run(TINY, given, tmp_path / "made", watch=_seen(stages))

    assert stages == ["pretrain", "finetune"] == list(done.stages)
    for stage in stages:
        losses = _losses(done, stage)
        assert losses[-1] < 0.95 * losses[0]
    assert {path.name for path in done.folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    made = checkpoint.load(done.folder, "fp32")
    assert (made.fingerprint, made.parameters) == (done.fingerprint, done.parameters)
    work = tmp_path / "made.training"
    assert (work / "finetune" / "curve.svg").is_file()
    assert " >> " in (work / "samples.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("until", [("pretrain", 8), ("finetune", 5)])
def test_an_ended_run_goes_on_to_the_same_generator(
    tmp_path: Path, given: list[str], until: tuple[str, int]
) -> None:
    whole = making.run(TINY, given, tmp_path / "whole")
    with pytest.raises(Stop):
        making.run(TINY, given, tmp_path / "ended", watch=_seen([], until=until))
    assert not (tmp_path / "ended").exists()

    stages: list[str] = []
    ended = making.run(TINY, given, tmp_path / "ended", watch=_seen(stages))

    assert stages == ["pretrain", "finetune"][("pretrain", "finetune").index(until[0]) :]
    assert ended.fingerprint == whole.fingerprint
    assert making.run(TINY, given, tmp_path / "ended", watch=_seen(stages)) == ended
    assert len(stages) <= 2  # a finished one is told and not done again


def _adapting(tmp_path: Path, given: list[str], *more: str) -> tuple[Finished, Path, Path]:
    base = making.run(TINY, given, tmp_path / "base")
    file = tmp_path / "adapting.toml"
    file.write_text(
        'base = "base"\n[data]\nexamples = ["examples.jsonl"]\n'
        "[finetune]\nlength = 160\nrows = 4\nheld_out = 0.2\n"
        "[finetune.lora]\nrank = 4\nalpha = 8.0\n"
        "[finetune.training]\nsteps = 12\nlearning_rate = 1e-2\nprecision = 'float32'\n",
        encoding="utf-8",
    )
    done = making.run(file, more, tmp_path / "adapted")
    return done, base.folder, tmp_path / "adapted.training" / FILE


def test_an_adapter_is_kept_by_itself_and_folded_into_what_was_made(
    tmp_path: Path, given: list[str]
) -> None:
    done, base, file = _adapting(tmp_path, given)
    adapter = lora.read(file)
    assert adapter.base == checkpoint.load(base, "fp32").fingerprint
    assert {tensor.dtype for tensor in adapter.tensors.values()} == {torch.bfloat16}
    assert adapter.note["metrics"] == done.stages["finetune"].metrics
    tokens = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        made, bare, joined = (
            model(tokens)
            for model in (
                checkpoint.load(done.folder, "fp32").model,
                checkpoint.load(base, "fp32").model,
                checkpoint.load(base, "fp32", adapter=file).model,
            )
        )
    assert_close(made, joined, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(made, bare, atol=1e-3)


def test_a_base_may_be_a_name_that_somebody_finds(tmp_path: Path, given: list[str]) -> None:
    asked: list[str] = []

    def locate(name: str) -> Path:
        asked.append(name)
        return tmp_path / "found"

    making.run(TINY, given, tmp_path / "found")
    file = tmp_path / "named.toml"
    file.write_text(
        'base = "some-model"\n[data]\nexamples = ["examples.jsonl"]\n[finetune]\nlength = 160\n'
        "[finetune.training]\nsteps = 2\n",
        encoding="utf-8",
    )
    making.run(file, (), tmp_path / "named", locate=locate)
    assert asked == ["some-model"]


def test_what_was_learned_by_other_settings_is_not_gone_on_with(
    tmp_path: Path, given: list[str]
) -> None:
    with pytest.raises(Stop):
        making.run(TINY, given, tmp_path / "made", watch=_seen([], until=("finetune", 3)))
    with pytest.raises(TrainingError, match=r"other settings of finetune\.blocks"):
        making.run(TINY, [*given, "finetune.blocks=0.1"], tmp_path / "made")
    with pytest.raises(TrainingError, match=r"other settings of generator\.d_ff"):
        making.run(TINY, [*given, "generator.d_ff=32"], tmp_path / "made")


def test_somebody_elses_folder_is_kept(tmp_path: Path, given: list[str]) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(TrainingError, match="mine exists and is kept: give another folder"):
        making.run(TINY, given, tmp_path / "mine")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("base=smollm2", r"give base, or \[tokenizer\] and \[generator\], and not both"),
        ("generator.vocab_size=9", r"generator\.vocab_size is tokenizer\.size: leave it out"),
        ("pretrain.length=400", r"pretrain\.length \(400\) is over generator\.max_tokens \(160\)"),
        ("data.examples=[]", r"data\.examples is empty"),
        ("data.texts=[]", r"data\.texts is empty"),
        ("finetune.opening.weight=0", r"weight \(0.0\) must be a number over 0"),
        ("finetune.lore.rank=2", r"lore.*"),
        ("tokenizer.size=0", r"size \(0\) must be at least 1"),
    ],
)
def test_a_config_that_cannot_be_is_refused_before_anything_is_made(
    tmp_path: Path, given: list[str], setting: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        making.run(TINY, [*given, setting], tmp_path / "made")
    assert not (tmp_path / "made.training").exists()


def test_an_adapter_beside_a_model_that_knows_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    text = TINY.read_text(encoding="utf-8")
    start, end = text.index("[pretrain]"), text.index("[finetune]")
    file.write_text(f"{text[:start]}{text[end:]}[finetune.lora]\nrank = 2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"add \[pretrain\], or give base"):
        read(file)
    file.write_text(text[:start], encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no stage: add \[pretrain\] or \[finetune\]"):
        read(file)


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("generator-*.toml")), ids=lambda f: f.stem)
def test_the_configs_that_come_along_are_whole(file: Path) -> None:
    config = read(file)
    assert config.pretrain or config.finetune
    if config.finetune and config.finetune.lora:
        assert config.finetune.lora.rank <= 12


def test_a_stage_with_too_few_batches_for_all_processes_is_refused_before_the_first(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "joined", lambda: Processes(0, 2))
    with pytest.raises(TrainingError, match=r"accumulate \(1\) .* 2 processes"):
        making.run(TINY, [*given, "pretrain.training.accumulate=2"], tmp_path / "made")
    assert not list(tmp_path.glob("made*"))
