"""The public text that the two encoders from nothing are trained on, laid out for a config file.

`python -m benchmarks.nothing en --data DIR -o OUT` writes OUT/texts.jsonl, OUT/pairs.jsonl where
there are pairs, and OUT/judged.jsonl, the development split that a run chooses its weights by. Test
splits are in none of them: sentences of the tests of STS-B, KorSTS and KLUE are left out of the
text, also those that stand in a training split as well.
"""

import gzip
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import beir, similarity

_REVIEWS = 200_000  # of 712,000: more than a run of an hour and a half reads

Row = dict[str, Any]


class Language(StrEnum):
    en = "en"
    ko = "ko"


def run(
    language: Annotated[Language, typer.Argument(help="Which of the two.")],
    data: Annotated[Path, typer.Option(help="Folder of public data.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")],
) -> None:
    """Lay out what an encoder of a language is trained on."""
    output.mkdir(parents=True, exist_ok=True)
    match language:
        case Language.en:
            _write(output / "texts.jsonl", _english(data))
            _write(output / "pairs.jsonl", _questions(data / "squad_nqg"))
            _write(output / "judged.jsonl", _graded(data, "stsb"))
        case Language.ko:
            _write(output / "texts.jsonl", _korean(data))
            _write(output / "judged.jsonl", _graded(data, "korsts"))


def _english(data: Path) -> Iterator[Row]:
    """Articles, abstracts, and the training sentences of STS-B without their grades."""
    for line in _lines(data / "lm_text" / "en_wiki.txt"):
        title, _, text = line.partition(". ")
        yield {"title": title, "text": text} if text and len(title) < 80 else {"text": line}
    for document in beir.read(data / "scifact").documents:
        yield {"title": document.title, "text": document.text}
    left_out = similarity.held_sentences(data, ["stsb"])
    train = similarity.read(data, "stsb", "train")
    sentences = dict.fromkeys((*train.left, *train.right))
    yield from ({"text": text} for text in sentences if text not in left_out)


def _korean(data: Path) -> Iterator[Row]:
    """Sentences and film reviews, without what KorSTS and KLUE test on."""
    left_out = similarity.held_sentences(data, ["korsts"]) | _klue(data / "klue")
    for line in _lines(data / "lm_text" / "ko_sentences.txt"):
        if line not in left_out:
            yield {"text": line}
    with gzip.open(data / "nsmc" / "reviews.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number >= _REVIEWS:
                return
            text = " ".join(json.loads(line)["text"].split())
            if text and text not in left_out:
                yield {"text": text}


def _klue(folder: Path) -> frozenset[str]:
    rows = json.loads((folder / "klue-nli-v1.1_dev.json").read_text(encoding="utf-8"))
    return frozenset(text.strip() for row in rows for text in (row["premise"], row["hypothesis"]))


def _questions(folder: Path) -> Iterator[Row]:
    asked, held = (_lines(folder / f"{side}-test.txt") for side in ("tgt", "src"))
    yield from ({"query": q, "positive": p} for q, p in zip(asked, held, strict=True))


def _graded(data: Path, name: similarity.Name) -> Iterator[Row]:
    dev = similarity.read(data, name, "dev")
    for left, right, grade in zip(dev.left, dev.right, dev.grades, strict=True):
        yield {"left": left, "right": right, "grade": grade}


def _lines(file: Path) -> list[str]:
    return [line.strip() for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


def _write(file: Path, rows: Iterable[Row]) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    typer.run(run)
