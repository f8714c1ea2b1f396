"""Public labelled data as examples, each with the split that figures are given for."""

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from encoder.entities import Entity, Tagged
from encoder.examples import Example, split
from transformer.runtime import seeded


@dataclass(frozen=True, slots=True)
class Labels:
    """What is learned from, and what it is judged on."""

    name: str
    train: tuple[Example, ...]
    test: tuple[Example, ...]


def nsmc(data: Path) -> Labels:
    """Korean film reviews, good or bad; a tenth is the test."""
    with gzip.open(data / "nsmc" / "balanced_40k.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    names = ("bad", "good")
    examples = [Example(row["text"], names[row["label"]]) for row in rows if row["text"].strip()]
    return _apart("nsmc", examples)


def trec(data: Path) -> Labels:
    """What kind of thing a question asks for, by its coarse label; the usual 500 are the test."""
    folder = data / "trec_question"
    texts = (folder / "text.txt").read_text(encoding="utf-8").splitlines()
    labels = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    sides: dict[str, list[Example]] = {"train": [], "test": []}
    for text, line in zip(texts, labels, strict=True):
        _, side, label = line.split("\t")
        sides[side].append(Example(text.partition(" ")[2], label))  # the first word gives it away
    return Labels("trec_question", tuple(sides["train"]), tuple(sides["test"]))


def stsb(data: Path) -> Labels:
    """How alike two sentences are, 0 to 5; with its own test."""

    def read(part: str) -> Iterator[Example]:
        file = data / "stsb_en" / f"stsb-en-{part}.csv"
        with file.open(encoding="utf-8", newline="") as lines:
            for first, second, score in csv.reader(lines):
                yield Example(first, float(score), second)

    return Labels("stsb_en", tuple(read("train")), tuple(read("test")))


def _apart(name: str, examples: Sequence[Example]) -> Labels:
    kept, held = split(examples, 0.1, "classes", seeded(0))
    test = tuple(examples[i] for i in sorted(held))
    judged = {each.text for each in test}  # some reviews are one word that many wrote
    train = tuple(examples[i] for i in sorted(kept) if examples[i].text not in judged)
    return Labels(name, train, test)


def klue_ner(data: Path) -> tuple[list[Tagged], list[Tagged]]:
    """Names in Korean sentences, a tag a character; a fifth is the test."""
    text = (data / "klue" / "klue-ner-v1.1_dev.tsv").read_text(encoding="utf-8")
    examples = []
    for block in text.split("\n\n"):
        rows = [line for line in block.split("\n") if "\t" in line and not line.startswith("##")]
        if rows:
            examples.append(_tagged([(row[0], row.rpartition("\t")[2].strip()) for row in rows]))
    order = torch.randperm(len(examples), generator=seeded(0)).tolist()
    n = len(order) // 5
    return [examples[i] for i in sorted(order[n:])], [examples[i] for i in sorted(order[:n])]


def _tagged(characters: Sequence[tuple[str, str]]) -> Tagged:
    entities: list[Entity] = []
    for place, (_, tag) in enumerate(characters):
        if tag.startswith("B-"):
            entities.append(Entity(place, place + 1, tag[2:]))
        elif tag.startswith("I-"):
            entities[-1] = replace(entities[-1], end=place + 1)
    return Tagged("".join(character for character, _ in characters), tuple(entities))
