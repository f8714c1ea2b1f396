"""A reader learns spans and when there is none, over windows of long passages."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from encoder.headed import begin
from encoder.heads import TokenHead
from encoder.questions import Question
from encoder.reader import Reader, Span
from encoder.reading import ReaderConfig, _Task, answer_scores, train_reader
from encoder.windows import Framing, Window
from tests.encoder.heads_learning import TINY, short_run, tiny_encoder
from transformer.errors import TrainingError
from transformer.runtime import seeded

CONFIG = ReaderConfig(
    max_tokens=20,
    question_tokens=4,
    overlap=4,
    longest=3,
    empty=0.5,
    batch=16,
    held_out=0.1,
    full=True,
    training=short_run(200, 1e-2),
)


def _drawn(rng: torch.Generator, n: int) -> list[str]:
    return [f"w{i}" for i in torch.randint(10, 40, (n,), generator=rng).tolist()]


def _questions(n: int = 200) -> list[Question]:
    """Which of w1 to w3 stand here? One or two, in passages of one to three windows."""
    rng = seeded(4)
    made = []
    for i in range(n):
        words = _drawn(rng, 8 + 4 * (i % 6))
        place = int(torch.randint(0, len(words) - 1, (1,), generator=rng))
        answer = [f"w{1 + i % 3}", f"w{1 + i % 2}"][: 1 + i % 2]
        words[place : place + len(answer)] = answer
        start = len(" ".join([*words[:place], ""]))
        made.append(Question("w5 w6", " ".join(words), ((" ".join(answer), start),)))
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reader]:
    folder = tmp_path_factory.mktemp("reader")
    return folder, train_reader(tiny_encoder(), _questions(), CONFIG, folder)


def test_spans_are_learned(trained: tuple[Path, Reader]) -> None:
    _, reader = trained
    assert reader.note["metrics"]["f1"] >= 0.8
    passage = "w20 w21 w22 w1 w2 w23"
    span = reader.read("w5 w6", passage)
    assert (span.text, span.start, span.end) == ("w1 w2", 12, 17)
    assert passage[span.start : span.end] == span.text
    assert span.answered
    assert span.margin == pytest.approx(span.score - span.no_answer_score)


def test_an_answer_far_behind_is_found(trained: tuple[Path, Reader]) -> None:
    passage = " ".join([*["w20 w21 w22"] * 20, "w3", *["w23 w24"] * 10])
    span = trained[1].read("w5 w6", passage)
    assert (span.text, passage[span.start : span.end]) == ("w3", "w3")


def test_no_answer_is_told(trained: tuple[Path, Reader]) -> None:
    assert not trained[1].read("w5 w6", "w20 w21 w22 w23 w24 w25 w26").answered


def test_an_empty_passage_answers_nothing(trained: tuple[Path, Reader]) -> None:
    span = trained[1].read("w5 w6", "")
    assert (span.start, span.end, span.text) == (0, 0, "")
    assert not span.answered


def test_many_are_read_as_each_alone(trained: tuple[Path, Reader]) -> None:
    folder, _ = trained
    reader = Reader.load(folder, dtype=torch.float32)
    pairs = [(each.question, each.passage) for each in _questions(30)]
    together, alone = reader.read_all(pairs), [reader.read(*pair) for pair in pairs]
    assert [(s.start, s.end) for s in together] == [(s.start, s.end) for s in alone]
    assert [s.score for s in together] == pytest.approx([s.score for s in alone], abs=1e-4)


def test_scores_take_none_where_it_is_likelier() -> None:
    questions = [
        Question("?", "green tea", (("tea", 6),)),
        Question("?", "green tea", ()),
        Question("?", "green tea", (("green", 0),)),
    ]
    told = [
        Span(6, 9, "tea", 3, 1),
        Span(0, 5, "green", 3, 1),
        Span(0, 5, "green", 1, 3),
    ]
    scores = answer_scores(told, questions, by="words")
    assert scores["exact_match"] == pytest.approx(1 / 3)
    assert scores["told_apart"] == pytest.approx(1 / 3)
    assert scores["forced_f1"] == pytest.approx(1)


def test_questions_that_teach_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="0 answered questions about 1 passages"):
        train_reader(tiny_encoder(), [Question("?", "w1", ())], CONFIG, tmp_path)


def test_a_window_with_half_an_answer_teaches_nothing() -> None:
    base = tiny_encoder()
    framing = Framing(base.tokenizer, prefix="", max_tokens=8, question_tokens=2, overlap=1)
    passages = [" ".join(f"w{i + k}" for i in range(9)) for k in (10, 20)]
    asked = [Question("w5 w6", each, ((each[16:23], 16),)) for each in passages]  # words 4 and 5
    headed = begin(base, TokenHead(TINY.d_model, 2), None, seeded(0))
    task = _Task(headed, framing, asked, CONFIG)
    (item,) = task.answered
    assert (item.window, item.answer) == (Window(4, 7), (4, 5))
    (empty,) = task.empty.values()
    assert [each.window for each in empty] == [Window(0, 3), Window(6, 9)]


def test_one_short_passage_to_learn_from_is_enough(tmp_path: Path) -> None:
    asked = [Question("w5 w6", f"w1 w2 w{i}", (("w1", 0),)) for i in (20, 21) for _ in range(6)]
    reader = train_reader(tiny_encoder(), asked, replace(CONFIG, training=short_run(2)), tmp_path)
    assert reader.note["steps"] == 2


def test_a_question_that_fills_the_models_places_is_refused(tmp_path: Path) -> None:
    config = replace(CONFIG, max_tokens=80, question_tokens=22)
    with pytest.raises(TrainingError, match=r"22 tokens and 3 marks leave no room .* row of 24"):
        train_reader(tiny_encoder(), _questions(4), config, tmp_path)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_tokens": 100, "question_tokens": 64}, r"max_tokens \(100\).*twice question_tokens"),
        ({"longest": 0}, r"longest \(0\)"),
        ({"batch": 0}, r"batch \(0\)"),
        ({"empty": -1.0}, r"empty \(-1.0\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ReaderConfig(**settings)  # type: ignore[arg-type]
