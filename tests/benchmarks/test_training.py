"""The race of training loops, run on a tiny encoder."""

import json
from pathlib import Path

import torch

from benchmarks.rounds import Spread
from benchmarks.training import measure
from tests.builders import spelling_encoder


def test_rates_and_shares_are_of_the_steps_that_count(tmp_path: Path) -> None:
    corpus = tmp_path / "data" / "scifact" / "corpus.jsonl"
    corpus.parent.mkdir(parents=True)
    rows = [{"text": "the heron waits near a meadow " * 200} for _ in range(8)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    encoder = spelling_encoder(tmp_path / "encoder")
    before = torch.get_num_threads()
    try:
        table = measure(encoder=encoder, data=tmp_path / "data", steps=2, threads=1, peers=False)
    finally:
        torch.set_num_threads(before)
    assert [row["name"] for row in table.rows] == ["attest bfloat16", "attest float32"]
    for row in table.rows:
        rate, share = row["tokens_per_s"], row["share_of_peak"]
        assert isinstance(rate, Spread)
        assert isinstance(share, float)
        assert rate.min > 0
        assert 0 < share < 1
    assert "scifact" in table.title
