"""Judged queries over a corpus: folders in BEIR's layout, and how well a ranking does on one."""

from collections.abc import Mapping
from pathlib import Path

from rag.judged import JudgedCorpus, JudgedDocument, read_corpus
from rag.metrics import per_query

__all__ = ["DEPTH", "JudgedDocument", "Ranking", "Task", "ndcg", "read"]

Ranking = Mapping[str, Mapping[str, float]]  # query id to document id to score
Task = JudgedCorpus

DEPTH = 10  # documents that count


def read(folder: Path) -> Task:
    """Read corpus.jsonl, queries.jsonl and qrels.tsv."""
    return read_corpus(folder)


def ndcg(task: Task, ranking: Ranking) -> float:
    """nDCG@10 times 100; a query without a ranking counts 0, equal scores rank by name."""
    ranked = {
        query: sorted(scores, key=lambda name: (-scores[name], name))
        for query, scores in ranking.items()
    }
    return 100 * float(per_query(task.judged, ranked)["ndcg_at_10"].mean())
