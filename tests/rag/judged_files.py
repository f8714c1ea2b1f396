"""Small folders in BEIR's layout."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCUMENTS = {
    "lamp": "The lamp in the hall is green and small.",
    "ferry": "A ferry leaves the harbour at nine.",
    "bread": "Bread is baked before the sun rises.",
    "clock": "An old clock ticks in the kitchen.",
}
QUERIES = {"q1": "green lamp", "q2": "ferry at nine", "q3": "who bakes bread", "q4": "unjudged"}
GRADES = (("q1", "lamp", 1), ("q2", "ferry", 2), ("q2", "bread", 0), ("q3", "bread", 1))


def lines(file: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write JSON, an object a line."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")
    return file


def corpus(
    folder: Path,
    documents: Mapping[str, str] = DOCUMENTS,
    queries: Mapping[str, str] = QUERIES,
    grades: Iterable[tuple[str, str, int]] = GRADES,
    *,
    header: str = "query-id\tcorpus-id\tscore\n",
    judgements: str = "qrels.tsv",
) -> Path:
    """A whole folder."""
    file = folder / judgements
    file.parent.mkdir(parents=True)
    lines(
        folder / "corpus.jsonl",
        ({"_id": key, "title": "", "text": text} for key, text in documents.items()),
    )
    lines(folder / "queries.jsonl", ({"_id": k, "text": text} for k, text in queries.items()))
    rows = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in grades)
    file.write_text(header + rows, encoding="utf-8")
    return folder
