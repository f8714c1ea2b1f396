"""One config file to a finished encoder: every stage, in order, once, and again after an end."""

import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from encoder import Embedder, scratch
from encoder.scratch import Finished
from encoder.scratch_config import read
from tests.encoder.learning import documents, texts_file
from transformer import processes
from transformer.corpus_files import Document, read_documents
from transformer.errors import ConfigError, TrainingError
from transformer.processes import Processes
from transformer.training import Moment, Watch

CONFIGS = Path(__file__).parents[2] / "configs"
TINY = CONFIGS / "encoder-tiny.toml"


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """Settings that make the tiny config tinier still."""
    return [
        f"data.texts={json.dumps([str(texts_file(tmp_path))])}",
        "tokenizer.size=110",
        "pretrain.training.steps=30",
        "contrast.training.steps=10",
        "contrast.training.evaluate_every=5",
    ]


class Stop(Exception):
    """What a test's watcher ends a stage with."""


def _seen(stages: list[str], *, until: tuple[str, int] | None = None) -> scratch.Watching:
    @contextmanager
    def of(stage: str) -> Iterator[Watch]:
        stages.append(stage)

        def watch(moment: Moment) -> None:
            if (stage, moment.step) == until:
                raise Stop

        yield watch

    return of


def _vectors(done: Finished) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return Embedder.load(done.folder).embed_documents(documents(8, seed=1))


def test_every_stage_runs_and_learns_and_leaves_an_encoder(
    tmp_path: Path, given: list[str]
) -> None:
    stages: list[str] = []
    done = scratch.run(TINY, given, tmp_path / "made", watch=_seen(stages))

    assert stages == ["pretrain", "contrast"] == list(done.stages)
    assert done.stages["pretrain"].steps == 30
    for stage in stages:
        lines = (tmp_path / "made.training" / stage / "metrics.jsonl").read_text("utf-8")
        losses = [json.loads(line)["loss"] for line in lines.splitlines()]
        assert losses[-1] < 0.9 * losses[0]
    assert _vectors(done).shape == (8, 32)
    assert {path.name for path in done.folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    assert (tmp_path / "made.training" / "contrast" / "curve.svg").is_file()


@pytest.mark.parametrize("until", [("pretrain", 12), ("contrast", 4)])
def test_an_ended_run_goes_on_to_the_same_encoder(
    tmp_path: Path, given: list[str], until: tuple[str, int]
) -> None:
    whole = scratch.run(TINY, given, tmp_path / "whole")
    with pytest.raises(Stop):
        scratch.run(TINY, given, tmp_path / "ended", watch=_seen([], until=until))
    assert not (tmp_path / "ended").exists()
    work = tmp_path / "ended.training"
    (work / ".pretrained.1.tmp").mkdir()  # as a kill may leave them
    (work / "pretrain" / ".state.safetensors.1.tmp").write_bytes(b"half")

    stages: list[str] = []
    ended = scratch.run(TINY, given, tmp_path / "ended", watch=_seen(stages))

    assert stages == ["pretrain", "contrast"][("pretrain", "contrast").index(until[0]) :]
    assert ended.fingerprint == whole.fingerprint
    assert ended.stages["pretrain"].metrics == whole.stages["pretrain"].metrics
    assert not list(work.rglob(".*.tmp"))


def test_a_finished_run_is_told_and_not_done_again(tmp_path: Path, given: list[str]) -> None:
    first = scratch.run(TINY, given, tmp_path / "made")
    stages: list[str] = []
    assert scratch.run(TINY, given, tmp_path / "made", watch=_seen(stages)) == first
    assert stages == []


def test_two_runs_never_work_on_the_same_files(tmp_path: Path, given: list[str]) -> None:
    made, told = tmp_path / "made", []

    @contextmanager
    def watching(_stage: str) -> Iterator[Watch]:
        with pytest.raises(TrainingError, match=r"made\.training is being worked on by another"):
            scratch.run(TINY, given, made)
        told.append((made.with_name("made.training") / "tokenizer.json").stat().st_mtime_ns)
        yield lambda _: None

    scratch.run(TINY, given, made, watch=watching)
    assert len(told) == 2
    assert len(set(told)) == 1  # nor does it touch what the first one goes by


def test_nothing_is_overwritten(tmp_path: Path, given: list[str]) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(TrainingError, match=r"mine exists and is kept"):
        scratch.run(TINY, given, tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []
    assert not (tmp_path / "mine.training").exists()


def test_a_run_of_other_settings_is_refused_but_for_its_budgets(
    tmp_path: Path, given: list[str]
) -> None:
    with pytest.raises(Stop):
        scratch.run(TINY, given, tmp_path / "made", watch=_seen([], until=("pretrain", 3)))
    with pytest.raises(TrainingError, match=r"other settings of encoder\.d_ff, pretrain\.rate"):
        scratch.run(TINY, [*given, "encoder.d_ff=96", "pretrain.rate=0.2"], tmp_path / "made")
    budget = ["pretrain.training.steps=12", "contrast.training.steps=4"]
    assert scratch.run(TINY, [*given, *budget], tmp_path / "made").stages["pretrain"].steps == 12


def test_a_setting_is_held_to_once_something_has_learned_by_it(
    tmp_path: Path, given: list[str]
) -> None:
    made = tmp_path / "made"
    with pytest.raises(TrainingError, match=r"none\.txt: no such file"):
        scratch.run(TINY, [*given, 'data.texts="none.txt"'], made)
    with pytest.raises(TrainingError, match=r"the text is too little for a vocabulary of 9000"):
        scratch.run(TINY, [*given, "tokenizer.size=9000"], made)
    with pytest.raises(Stop):  # in the second stage, behind a first one with right settings
        scratch.run(TINY, given, made, watch=_seen([], until=("contrast", 2)))
    hotter = [*given, "contrast.temperature=0.1"]
    held = rf"temperature: set them back to go on with it, delete {re.escape(str(tmp_path))}"
    with pytest.raises(TrainingError, match=held):
        scratch.run(TINY, hotter, made)

    shutil.rmtree(tmp_path / "made.training" / "contrast")
    stages: list[str] = []
    gone_on = scratch.run(TINY, hotter, made, watch=_seen(stages))

    assert stages == ["contrast"]
    assert gone_on.fingerprint == scratch.run(TINY, hotter, tmp_path / "whole").fingerprint


def test_what_does_not_belong_to_a_run_is_not_taken_for_its_own(
    tmp_path: Path, given: list[str]
) -> None:
    wide = [*given, "encoder.d_ff=96", "encoder.d_model=48"]
    other = scratch.run(TINY, wide, tmp_path / "other").folder
    with pytest.raises(Stop):
        scratch.run(TINY, given, tmp_path / "made", watch=_seen([], until=("contrast", 2)))
    work = tmp_path / "made.training"

    shutil.copytree(other, tmp_path / "made")
    with pytest.raises(TrainingError, match=r"made exists and is kept"):
        scratch.run(TINY, given, tmp_path / "made")
    shutil.rmtree(tmp_path / "made")

    shutil.rmtree(work / "pretrained")
    shutil.copytree(other, work / "pretrained")
    shape = r"pretrained holds an encoder of another shape: d_model \(48 → 32\), d_ff \(96 → 64\)"
    with pytest.raises(TrainingError, match=shape):
        scratch.run(TINY, given, tmp_path / "made")

    (work / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(TrainingError, match=r"run\.json is damaged: delete .*made\.training"):
        scratch.run(TINY, given, tmp_path / "made")


def test_what_the_second_stage_lacks_is_known_before_the_first(
    tmp_path: Path, given: list[str]
) -> None:
    rows = [{"left": "near", "right": "by", "grade": grade} for grade in (1, 2, 3)]
    (tmp_path / "graded.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    graded = f"data.graded={json.dumps(str(tmp_path / 'graded.jsonl'))}"
    stages: list[str] = []
    for settings, message in (
        (["contrast.shares.given=1"], r"shares\.given is 1, and 0 texts"),
        (['data.pairs="none.jsonl"'], r"none\.jsonl cannot be read"),
        (['data.judged="none.jsonl"'], r"none\.jsonl cannot be read"),
        (["contrast.shares.graded=1"], r"shares\.graded is 1, and 0 texts"),
    ):
        with pytest.raises(TrainingError, match=message):
            scratch.run(TINY, [*given, *settings], tmp_path / "made", watch=_seen(stages))
    assert stages == []
    scratch.run(TINY, [*given, graded, "contrast.shares.graded=1"], tmp_path / "made")


def test_a_vocabulary_that_needs_what_is_not_installed(
    tmp_path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(TrainingError, match=r"sentencepiece, which is not installed: pip install"):
        scratch.run(TINY, [*given, "tokenizer.kind=unigram"], tmp_path / "made")


def test_a_stage_may_be_left_out(tmp_path: Path, given: list[str]) -> None:
    text = TINY.read_text(encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text(text[: text.index("[contrast]")], encoding="utf-8")
    overrides = [setting for setting in given if not setting.startswith("contrast")]
    done = scratch.run(config, overrides, tmp_path / "made")
    assert list(done.stages) == ["pretrain"]


def test_texts_are_found_beside_the_config(tmp_path: Path, given: list[str]) -> None:
    config = tmp_path / "config.toml"
    config.write_text(TINY.read_text(encoding="utf-8"), encoding="utf-8")
    scratch.run(config, given[1:], tmp_path / "made")  # the config says texts.txt


@pytest.mark.parametrize("name", sorted(file.stem for file in CONFIGS.glob("encoder-*.toml")))
def test_the_configs_that_are_shipped_can_be_read(name: str) -> None:
    config = read(CONFIGS / f"{name}.toml")
    assert config.encoder.vocab_size == config.tokenizer.size
    assert config.pretrain is not None
    assert config.contrast is not None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("pretrain.training.step=3", r"pretrain\.training\.step: did you mean steps"),
        ("encoder.vocab_size=3", r"encoder\.vocab_size is tokenizer\.size"),
        ("encoder.n_heads=5", r"n_heads \(5\) must divide d_model \(32\)"),
        (
            "contrast.max_tokens=65",
            r"contrast\.max_tokens \(65\) is over encoder\.max_tokens \(64\)",
        ),
        ("contrast.dimensions=[33]", r"contrast: dimensions \[33\] must be between 1 and d_model"),
        ("contrast.shares.crops=-1", r"shares must be at least 0"),
        ("data.text=a.txt", r"data\.text: did you mean texts"),
        ("start.embedding_deviation=inf", r"embedding_deviation \(inf\) must be a number over 0"),
        ("tokenizer=3", r"tokenizer \(3\) must be a table: \[tokenizer\]"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_trained(
    tmp_path: Path, given: list[str], setting: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        scratch.run(TINY, [*given, setting], tmp_path / "made")
    assert not (tmp_path / "made.training").exists()


def test_documents_are_read_from_text_and_json_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "A.TXT").write_text("one\n\n  둘  \n", encoding="utf-8-sig")  # as Notepad does
    rows = '{"title": "T", "text": "three"}\n{"text": "four"}\n'
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    assert read_documents([tmp_path / "A.TXT", tmp_path / "b.jsonl.gz"]) == [
        Document("one"),
        Document("둘"),
        Document("three", "T"),
        Document("four"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"one", r"read from \.txt and \.jsonl"),
        ("a.txt", b"\xff\xfe\x00", r"a\.txt cannot be read"),
        ("a.txt", None, r"a\.txt: no such file; name texts with data\.texts"),
        ("a.jsonl", b'{"text": "x"}\n[1]\n', r'line 2 must hold a JSON object with a "text"'),
        ("a.jsonl", b"{", r"line 1 is not JSON"),
        ("a.txt.gz", b"no gzip", r"a\.txt\.gz cannot be read"),
        ("a.txt.gz", gzip.compress(b"word " * 99)[:-9] + b"\xff" * 9, r"a\.txt\.gz cannot be read"),
        ("a.txt.gz", gzip.compress(b"word " * 99)[:20], r"a\.txt\.gz cannot be read"),
        ("a.txt", b" \n\n", r"there is no text in what data\.texts names: .*a\.txt"),
        ("a.txt", "휴가".encode("cp949"), r"a\.txt cannot be read: save it as UTF-8"),
        ("a.jsonl", b'{"text": "\\ud800 x"}', r"line 1 holds half of a character"),
    ],
)
def test_files_that_cannot_be_texts_are_named(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TrainingError, match=message):
        read_documents([tmp_path / name])


def test_blocks_weigh_less_in_a_pre_norm_model_alone_and_that_is_known_at_once(
    tmp_path: Path, given: list[str]
) -> None:
    settings = [*given, "encoder.pre_norm=false", "contrast.blocks=0.5"]
    with pytest.raises(ConfigError, match=r"contrast: blocks \(0\.5\) can weigh less only in a"):
        scratch.run(TINY, settings, tmp_path / "made")
    assert not (tmp_path / "made.training").exists()


def test_a_stage_with_too_few_batches_for_all_processes_is_refused_before_the_first(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "joined", lambda: Processes(0, 2))
    with pytest.raises(TrainingError, match=r"accumulate \(1\) .* 2 processes"):
        scratch.run(TINY, [*given, "pretrain.training.accumulate=2"], tmp_path / "made")
    assert not list(tmp_path.glob("made*"))
