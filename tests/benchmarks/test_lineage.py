"""The models of the lineage: what they compute, that they learn, and what is drawn of them."""

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from typer.testing import CliRunner

from benchmarks import lineage, pace, translation
from benchmarks.parallel import Corpus, Sentence, read
from benchmarks.recurrent import Attending, Bottleneck, begin_lstm
from generator.seq2seq import Seq2Seq
from generator.seq2seq_training import Pair, Translating, padded
from transformer.runtime import seeded
from transformer.training import TrainingConfig, train

_V = 17
_SOURCES, _MASK = padded([(3, 4, 5, 6, 7), (8, 9)], 0)


def _models() -> list[Bottleneck | Attending]:
    models: list[Bottleneck | Attending] = [Bottleneck(_V, 6, 10), Attending(_V, 6, 10)]
    for model in models:
        begin_lstm(model, seeded(0))
    return models


def _ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(3, _V, shape, generator=seeded(seed))


@pytest.mark.parametrize("kind", [0, 1])
def test_a_step_at_a_time_is_the_whole_target(kind: int) -> None:
    model, target = _models()[kind], _ids(2, 6)
    step = model.stepping(_SOURCES, _MASK)
    parts = [step(target[:, n : n + 1]) for n in range(6)]
    whole = model(_SOURCES, _MASK, target)
    assert_close(torch.stack(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    changed = torch.cat([target[:, :3], _ids(2, 3, seed=4)], dim=1)
    assert_close(model(_SOURCES, _MASK, changed)[:, :3], whole[:, :3], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
def test_padding_of_the_source_changes_nothing(kind: int) -> None:
    model, target = _models()[kind], _ids(1, 4)
    assert _MASK is not None
    alone = model(_SOURCES[1:, :2], None, target)
    assert_close(model(_SOURCES[1:], _MASK[1:], target), alone, atol=1e-5, rtol=1e-5)


def test_only_attention_looks_back_behind_the_last_state() -> None:
    for model, looks in zip(_models(), (False, True), strict=True):
        vectors, last = model.reader(_SOURCES[:1], None)
        other = vectors.clone()
        other[:, 0] += 1  # a place whose own vector changes, and the last state does not
        model.reader = _Given(vectors, last)  # type: ignore[assignment]
        before = model(_SOURCES[:1], None, _ids(1, 3))
        model.reader = _Given(other, last)  # type: ignore[assignment]
        after = model(_SOURCES[:1], None, _ids(1, 3))
        assert torch.allclose(before, after) is not looks, type(model).__name__


class _Given(nn.Module):
    """A reader that has read already."""

    def __init__(self, vectors: Tensor, state: tuple[Tensor, Tensor]) -> None:
        super().__init__()
        self._read = vectors, state

    def forward(self, source: Tensor, mask: Tensor | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return self._read


def test_all_three_learn_by_the_same_task(tmp_path: Path) -> None:
    pairs = [Pair((a, b), (b, a)) for a in range(5, 11) for b in range(5, 11)]
    for number, contender in enumerate(lineage.contenders()):
        task = Translating(contender.make(_V), pairs, pairs, pace._MARKS, smoothing=0.0)
        config = TrainingConfig(steps=60, learning_rate=5e-3, precision="float32")
        done = train(task, config, tmp_path / str(number))
        assert done.metrics["accuracy"] > 0.8, contender.name


def test_lists_are_of_every_length_and_the_judged_ones_are_new() -> None:
    some = lineage.lists(60, seed=1)
    assert {len(each.source.split()) for each in some} == set(range(2, 22))
    assert all(each.source == each.target for each in some)
    assert some == lineage.lists(60, seed=1)
    assert some != lineage.lists(60, seed=2)
    corpus, judged = lineage.listed()
    assert not {each.source for each in judged} & {each.source for each in corpus.trained}
    assert len(judged) > 300
    chosen_by = {each.source for each in corpus.held_out[:200]}  # of these, `measure` takes weights
    assert not chosen_by & {each.source for each in judged}


def test_quality_by_length_is_of_equal_parts() -> None:
    meant = ["a b c d " * n for n in range(1, 11)]
    said = [*meant[:8], "x", "y"]
    points = lineage._by_length(said, meant)
    assert [at for at, _ in points] == [6, 14, 22, 30, 38]
    assert [score for _, score in points] == [pytest.approx(100)] * 4 + [0]


def test_the_rows_and_the_lines_name_the_same_models() -> None:
    some = lineage.lists(40, seed=1)
    corpus = Corpus(some, lineage.lists(20, seed=2), 83)
    config = TrainingConfig(steps=2, precision="float32")
    table, lines = lineage.measure(corpus, corpus.held_out, config)
    names = ["LSTM, one state", "LSTM, attention", "transformer"]
    assert [row["name"] for row in table.rows] == [line.name for line in lines] == names
    assert all(len(line.points) == 5 for line in lines)
    sizes = [row["parameters"] for row in table.rows]
    assert all(isinstance(size, int) and 8e5 < size < 1.3e6 for size in sizes)


def test_pace_is_measured_by_turns() -> None:
    makers = {"one": lambda v: Bottleneck(v, 8, 8), "all": lambda v: Attending(v, 8, 8)}
    table, lines = pace.measure(makers, lengths=(3, 5), rows=2, vocabulary=20, rounds=1)
    assert [row["name"] for row in table.rows] == ["one", "all"]
    assert table.columns == ["name", "3 tokens", "5 tokens"]
    assert [[at for at, _ in line.points] for line in lines] == [[3, 5]] * 2


def _folder(path: Path) -> Path:
    texts = {"ko": "나는 간다", "en": "I am going"}
    for name in ("jhe-koen-dev", "jhe-koen-eval"):
        for language, text in texts.items():
            lines = [f"{text} {name[-3:]} {n}." for n in range(4)] + [""]
            (path / f"{name}.{language}").write_text("\n".join(lines), encoding="utf-8")
    return path


def test_sentences_are_read_in_pairs_and_translated_in_their_order(tmp_path: Path) -> None:
    sentences = read(_folder(tmp_path), "jhe-koen-dev")
    assert sentences[2] == Sentence("나는 간다 dev 2.", "I am going dev 2.")
    assert len(sentences) == 4
    corpus = Corpus(sentences, [*sentences[:1], Sentence("간다", "going")], 34)
    assert corpus.held_out == [Sentence("간다", "going")], "what was learned is not held out"

    def echo(source: Tensor, mask: Tensor | None) -> list[list[int]]:
        rows = source if mask is None else [r[m] for r, m in zip(source, mask, strict=True)]
        return [row.tolist() for row in rows]

    texts = [Sentence(text, "") for text in ("간다 나는 간다", "나는", "간다 1")]
    assert corpus.translations(echo, texts, rows=2) == [each.source for each in texts]


def test_greedy_decodes_a_batch_row_by_row(tmp_path: Path) -> None:
    corpus = Corpus(read(_folder(tmp_path), "jhe-koen-dev"), [], 34)
    decode = translation.greedy(Seq2Seq(translation.small(34)).eval(), corpus)
    source, mask = padded([corpus.pairs[0].source, (7, 8)], 0)
    assert mask is not None
    both = decode(source, mask)
    assert both[1] == decode(source[1:, :2], None)[0]
    assert len(both) == 2


@pytest.mark.parametrize("app", [lineage.app, translation.app])
def test_a_folder_without_the_sentences_is_named(app: object, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["--data", str(tmp_path)])  # type: ignore[arg-type]
    assert told.exit_code == 2
    assert "jhe-koen-dev.ko" in re.sub(r"\W*\n\W*", " ", told.output)
