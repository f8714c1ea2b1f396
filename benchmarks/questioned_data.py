"""Public questions with passages and answers, each with the split that figures are given for."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from encoder.answer_scores import By
from encoder.questions import Question, read_squad
from transformer.runtime import seeded


@dataclass(frozen=True, slots=True)
class Questions:
    """What is learned from, and what it is judged on."""

    name: str
    train: list[Question]
    test: list[Question]
    lost: int  # answers that stand nowhere in their passage
    by: By


def korquad(data: Path) -> Questions:
    """Korean Wikipedia: articles 0 to 99 to learn from, 100 to 139 to judge on."""
    articles = _articles(data / "korquad_v1" / "KorQuAD_v1.0_dev.json")
    train, lost = read_squad(articles[:100])
    test, also = read_squad(articles[100:140])
    return Questions("korquad_v1", train, test, lost + also, "characters")


def covid(data: Path) -> Questions:
    """Long papers, English: a fifth of them to judge on."""
    articles = _articles(data / "covid_qa" / "200423_covidQA.json")
    order = torch.randperm(len(articles), generator=seeded(0)).tolist()
    n = len(articles) // 5
    train, lost = read_squad([articles[i] for i in sorted(order[n:])])
    test, also = read_squad([articles[i] for i in sorted(order[:n])])
    return Questions("covid_qa", train, test, lost + also, "words")


def _articles(file: Path) -> list[dict[str, Any]]:
    articles: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    return articles
