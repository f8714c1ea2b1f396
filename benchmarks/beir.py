"""Judged queries over a corpus: folders in BEIR's layout, and how well a ranking does on one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Ranking = Mapping[str, Mapping[str, float]]  # query id to document id to score

DEPTH = 10  # documents that count


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    id: str
    title: str  # may be empty
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """Only the queries that are judged."""

    name: str
    documents: tuple[JudgedDocument, ...]
    queries: Mapping[str, str]
    judged: Mapping[str, Mapping[str, int]]  # query id to document id to grade


def read(folder: Path) -> Task:
    """Read corpus.jsonl, queries.jsonl and qrels.tsv."""
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        judged.setdefault(query, {})[document] = int(grade)
    documents = tuple(
        JudgedDocument(row["_id"], row["title"], row["text"])
        for row in _rows(folder / "corpus.jsonl")
    )
    queries = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    return Task(
        folder.name, documents, {key: queries[key] for key in judged if key in queries}, judged
    )


def ndcg(task: Task, ranking: Ranking) -> float:
    """nDCG@10 times 100, as ir-measures has it; a query without a ranking counts 0."""
    import ir_measures
    from ir_measures import nDCG

    judged = {query: task.judged[query] for query in task.queries}
    measured = ir_measures.calc_aggregate([nDCG @ DEPTH], judged, ranking)
    return 100 * float(measured[nDCG @ DEPTH])


def _rows(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
