"""The tables of the training reference name every setting, its choices and its default."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from encoder.classify import ClassifierConfig
from encoder.config import EncoderConfig
from encoder.contrast import ContrastConfig
from encoder.pairs import Making, Shares
from encoder.pretrain import MlmConfig
from encoder.scratch_config import DataConfig, ScratchConfig, StartConfig, TokenizerConfig
from rag import classifier_training
from transformer.journal import Moment
from transformer.lora import LoraConfig
from transformer.training import TrainingConfig

PAGE = (Path(__file__).parents[2] / "docs/reference/training.md").read_text(encoding="utf-8")

SECTIONS = {
    "data": DataConfig,
    "tokenizer": TokenizerConfig,
    "encoder": EncoderConfig,
    "start": StartConfig,
    "pretrain": MlmConfig,
    "contrast": ContrastConfig,
    "contrast.shares": Shares,
    "contrast.making": Making,
    "….training": TrainingConfig,
    "data, of a classifier": classifier_training.DataConfig,
    "classifier": ClassifierConfig,
    "classifier.lora": LoraConfig,
}
ELSEWHERE = {"encoder": {"vocab_size"}}  # tokenizer.size gives it


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = PAGE.split(f"\n### `[{heading}]`\n")[1]
    table = re.search(r"^\|.*\n\|[-| ]+\n((?:\|.*\n)+)", section, re.M)
    assert table
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in table[1].split("\n")[:-1]
    ]


def written(value: Any) -> str:
    """A value as the page writes it: as TOML does."""
    match value:
        case None:
            return "–"
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f'`"{value}"`'
        case tuple():
            return f"`[{', '.join(written(each).strip('`') for each in value)}]`"
        case _:
            return f"`{value:g}`"


def settings(config: type[Any], without: set[str]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Name, default and choices of each setting; those that are tables have their own heading."""
    hints = get_type_hints(config)
    for each in fields(config):
        kinds = [kind for kind in (hints[each.name], *get_args(hints[each.name])) if kind]
        if each.name in without or any(
            is_dataclass(kind) for kind in kinds if kind is not NoneType
        ):
            continue
        default = "needed" if each.default is MISSING else written(each.default)
        choices = [get_args(kind) for kind in kinds if get_origin(kind) is Literal]
        yield each.name, default, (choices[0] if choices else ())


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_table_tells_every_setting_and_its_default(heading: str) -> None:
    expected = list(settings(SECTIONS[heading], ELSEWHERE.get(heading, set())))
    told = rows(heading)
    assert [(row[0], row[1]) for row in told] == [(f"`{n}`", default) for n, default, _ in expected]
    for (name, _, choices), row in zip(expected, told, strict=True):
        assert all(f"`{choice}`" in row[2] for choice in choices), name
        assert len(row[2]) > 5, name


def test_every_table_of_the_config_file_has_a_heading() -> None:
    assert {each.name for each in fields(ScratchConfig)} <= SECTIONS.keys()


def test_the_fields_of_a_line_of_metrics() -> None:
    section = PAGE.split("\n## What a run tells\n")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert told == [each.name for each in fields(Moment)]
