"""Measuring retrieval: the product's own rankings, judged; two encoders compared."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from encoder import Embedder
from encoder.adapt import QueryTuning, tune_queries
from rag import Assistant, Settings, evaluation_file, evaluation_text
from rag.comparing import Figures
from rag.errors import NotFound, UsageError
from rag.evaluate import Evaluation, evaluate
from rag.judged import read_corpus
from rag.records import Mode
from rag.retrieve import retrieve
from rag.trial import Side, asked, library_of, listed
from tests.builders import spelling_encoder
from tests.rag.judged_files import corpus, lines

WORDS = ["lamp", "ferry", "bread", "clock", "river", "stone", "cloud", "paper", "horse", "window"]

MODES: dict[Side, Mode] = {"lexical": "lexical", "dense": "dense", "fused": "hybrid"}


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty documents, each of which is asked for by its own words."""
    rng = random.Random(1)
    texts = {f"d{i}": " ".join(rng.choices(WORDS, k=6)) for i in range(30)}
    queries = {f"q{key}": text for key, text in texts.items()}
    grades = [(f"q{key}", key, 1) for key in texts]
    return corpus(tmp_path_factory.mktemp("data") / "twins", texts, queries, grades)


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder that reads every document behind the same noise."""
    folder = tmp_path_factory.mktemp("models") / "worse"
    return spelling_encoder(folder, prefix="qx zj kv " * 12)


def side(made: Evaluation, name: str, relevance: str = "document") -> Figures:
    (found,) = [
        each for each in made.measured.figures if (each.side, each.relevance) == (name, relevance)
    ]
    return found


def mean(figures: Figures) -> float:
    values = figures.values("ndcg_at_10")
    return sum(values) / len(values)


def test_what_is_measured_is_what_a_search_gives(twins: Path, settings: Settings) -> None:
    given = read_corpus(twins)
    # Exact numbers: a batch and a single question differ in the last bits of bfloat16.
    embedder = Embedder.load(Path(settings.encoder), dtype=torch.float32)
    with library_of(given.documents, embedder, settings.encoder, cache=None) as trial:
        found = asked(trial, given.queries)
        for name, mode in MODES.items():
            for key, query in given.queries.items():
                hits = retrieve(
                    query, collection=trial.collection, embedder=embedder, k=100, mode=mode
                ).hits
                assert found[name][key] == listed(hits), (name, key)


def test_a_corpus_is_measured_on_every_side(attest: Assistant, tmp_path: Path) -> None:
    made = evaluate(attest, corpus(tmp_path / "tiny"))
    assert (made.kind, made.queries, made.collection) == ("corpus", 3, None)
    assert (made.measured.documents, made.measured.chunks) == (4, 4)
    assert [figures.side for figures in made.measured.figures] == ["lexical", "dense", "fused"]
    lexical = side(made, "lexical")
    assert [outcome.rank for outcome in lexical.outcomes.values()] == [1, 1, 1]
    assert mean(lexical) == 1
    assert made.intervals["lexical", "document"]["ndcg_at_10"].low == 1
    assert 0 < mean(side(made, "dense")) <= 1
    assert made.expected["q1"] == "lamp: The lamp in the hall is green and small."
    assert not attest.documents()  # the user's own library is left alone


def test_a_cache_changes_nothing_and_is_used(
    attest: Assistant, twins: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    encoded: list[int] = []

    def watch(what: str, done: int, _total: int) -> None:
        if what == "encoding":
            encoded.append(done)

    plain = evaluate(attest, twins)
    first = evaluate(attest, twins, cache=cache, watch=watch)
    assert encoded == [30]
    again = evaluate(attest, twins, cache=cache, watch=watch)
    assert encoded == [30]
    assert plain.measured.figures == first.measured.figures == again.measured.figures
    assert not list(cache.rglob("making-*"))
    assert not list(cache.rglob("*.tmp"))


def test_questions_that_are_too_long_are_asked_by_their_words(
    attest: Assistant, tmp_path: Path
) -> None:
    queries = {"q1": "green lamp " * 60, "q2": "ferry at nine"}
    made = evaluate(attest, corpus(tmp_path / "tiny", queries=queries))
    assert side(made, "dense").outcomes["q1"].rank is None
    assert side(made, "fused").outcomes["q1"].rank == 1
    assert made.notes[-1].startswith("1 questions are longer than the encoder's 256 tokens")


def test_a_better_encoder_is_found_out(attest: Assistant, twins: Path, worse: Path) -> None:
    made = evaluate(attest, twins, against=str(worse))
    assert mean(side(made, "dense")) == 1  # the same text has the same vector
    (comparison,) = made.comparisons
    dense = next(each for each in comparison.sides if each.side == "dense")
    found = dense.differences["ndcg_at_10"]
    assert dense.queries == 30
    assert 0 < found.low < found.mean <= found.high
    assert found.p < 0.01
    assert dense.means["ndcg_at_10"][1] == 1
    assert len(dense.better) == 5
    assert dense.worse == ()
    assert dense.better[0].after.rank == 1
    assert (dense.better[0].before.rank or 99) > 1
    lexical = next(each for each in comparison.sides if each.side == "lexical")
    assert lexical.differences["ndcg_at_10"].mean == 0
    text = evaluation_text.evaluation(made)
    assert "(not certain)" in text
    assert "better most, fused" in text


def test_an_earlier_run_is_compared_with(
    attest: Assistant, twins: Path, worse: Path, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path / "other", encoder=str(worse), threads=1)
    with Assistant.open(settings) as other:
        earlier = evaluate(other, twins)
    file = tmp_path / "earlier.json"
    body = evaluation_file.evaluation(earlier, each=True)
    body["per_query"][0]["query"] = "another question of the same id"
    file.write_text(json.dumps(body), encoding="utf-8")
    beside = evaluate(attest, twins, against=str(file))
    by_file = beside.comparisons[0]
    by_encoder = evaluate(attest, twins, against=str(worse)).comparisons[0]
    assert [each.side for each in by_file.sides] == ["lexical", "dense", "fused"]
    lexical, dense = by_file.sides[0], by_file.sides[1]
    assert beside.intervals == evaluate(attest, twins).intervals
    assert lexical.queries == 29
    assert dense.differences["map_at_100"].mean == pytest.approx(
        by_encoder.sides[1].differences["map_at_100"].mean, abs=1e-5
    )


def test_what_cannot_be_compared_with_is_said(
    attest: Assistant, twins: Path, settings: Settings, tmp_path: Path
) -> None:
    earlier = evaluate(attest, corpus(tmp_path / "tiny"))
    file = tmp_path / "earlier.json"
    file.write_text(json.dumps(evaluation_file.evaluation(earlier, each=True)), encoding="utf-8")
    with pytest.raises(UsageError, match="no question in common"):
        evaluate(attest, twins, against=str(file))
    file.write_text(json.dumps(evaluation_file.evaluation(earlier)), encoding="utf-8")
    with pytest.raises(UsageError, match=r"no figures of each question: .* --per-query"):
        evaluate(attest, twins, against=str(file))
    file.write_text('{"per_query": [{"side": "up"}]}', encoding="utf-8")
    with pytest.raises(UsageError, match="per_query is not as"):
        evaluate(attest, twins, against=str(file))
    file.write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="is no JSON"):
        evaluate(attest, twins, against=str(file))
    with pytest.raises(UsageError, match="no such file"):
        evaluate(attest, twins, against="nowhere.json")
    with pytest.raises(UsageError, match="is the encoder that is measured"):
        evaluate(attest, twins, against=settings.encoder)
    with pytest.raises(NotFound, match="there is no model"):
        evaluate(attest, twins, against="nobody")
    with pytest.raises(UsageError, match=r"holds neither corpus.jsonl nor questions.jsonl"):
        evaluate(attest, tmp_path)


def teach(attest: Assistant, folder: Path) -> None:
    """Let the questions of the default collection learn a little."""
    embedder = attest.encoders.of("default")
    questions = embedder.embed_queries(["lamp", "ferry", "bread", "clock"])
    candidates = np.stack([questions] * 4)  # (n, k, d)
    teacher = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    config = QueryTuning(steps=5, held_out=0.25)
    learned = tune_queries(
        questions, candidates, teacher, config, folder, base=embedder.fingerprint
    )
    key = attest.catalog.add_adapter(
        "default",
        fingerprint=learned.fingerprint,
        base=embedder.fingerprint,
        kind="query",
        data=learned.data,
        report={},
    )
    attest.catalog.use_adapter("default", key)


def test_what_was_learned_is_a_side_of_its_own(
    library: Assistant, tmp_path: Path, twins: Path
) -> None:
    file = lines(tmp_path / "questions.jsonl", OWN)
    assert "adapted" not in {figures.side for figures in evaluate(library, file).measured.figures}
    teach(library, tmp_path / "run")
    for data in (file, twins):
        made = evaluate(library, data)
        adapted, fused = side(made, "adapted"), side(made, "fused")
        assert list(adapted.outcomes) == list(fused.outcomes)
        assert mean(adapted) > 0
        (comparison,) = made.comparisons
        assert comparison.against == "itself without what it learned"
        assert {(each.before, each.side) for each in comparison.sides} == {("fused", "adapted")}
        gain = comparison.sides[0].differences["ndcg_at_10"]
        assert gain.mean == pytest.approx(mean(adapted) - mean(fused))
    assert library.history() == ()
    library.catalog.use_adapter("default", None)
    assert "adapted" not in {figures.side for figures in evaluate(library, file).measured.figures}


OWN: list[dict[str, object]] = [
    {"question": "how long does the warranty last", "answers": ["24  Months"],
     "document": "warranty.md"},
    {"question": "when does the workshop open", "answers": ["at noon"], "document": "hours.txt"},
    {"question": "연차는 며칠", "answers": ["15일"]},
    {"question": "who won", "answers": ["nobody"], "document": "absent.pdf"},
    {"question": "what else", "answerable": False},
]  # fmt: skip


def test_own_questions_are_judged_by_documents_and_by_passages(
    library: Assistant, tmp_path: Path
) -> None:
    made = evaluate(library, lines(tmp_path / "questions.jsonl", OWN))
    assert (made.kind, made.queries, made.collection) == ("questions", 4, "default")
    documents, held = side(made, "lexical"), side(made, "lexical", "passage")
    assert list(documents.outcomes) == ["1", "2", "4"]
    assert list(held.outcomes) == ["1", "3"]
    assert [outcome.rank for outcome in documents.outcomes.values()] == [1, 1, None]
    assert [outcome.rank for outcome in held.outcomes.values()] == [1, 1]
    assert made.notes == (
        "left out: 1 questions that the documents do not answer",
        "1 documents are not in the library (absent.pdf): they count as not found",
        "1 of 4 questions are not judged by document",
        "2 of 4 questions are not judged by passage",
    )
    assert library.history() == ()  # nobody asked


def test_a_duplicate_is_found_by_its_original(library: Assistant, tmp_path: Path) -> None:
    (copy,) = [row for row in library.documents() if row.path.endswith("hours.txt")]
    twin = tmp_path / "copy.txt"
    twin.write_bytes(Path(copy.path).read_bytes())
    assert library.add(twin)[0].status == "duplicate"
    rows = [{"question": "when does the workshop open", "document": "copy.txt"}]
    made = evaluate(library, lines(tmp_path / "questions.jsonl", rows))
    assert side(made, "lexical").outcomes["1"].rank == 1


def test_own_questions_on_another_encoder(library: Assistant, worse: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "questions.jsonl", OWN)
    (comparison,) = evaluate(library, file, against=str(worse)).comparisons
    assert [(each.side, each.relevance) for each in comparison.sides] == [
        (name, relevance)
        for relevance in ("document", "passage")
        for name in ("lexical", "dense", "fused")
    ]
    by_words = comparison.sides[0]
    assert by_words.differences["ndcg_at_10"].mean == 0  # the same texts, cut the same way
    assert library.status().fingerprint == library.encoders.of("default").fingerprint


def test_own_questions_without_their_documents(attest: Assistant, tmp_path: Path) -> None:
    file = lines(tmp_path / "questions.jsonl", OWN[:2])
    message = r"none of 2 questions names one of the 0 documents of the library 'default'"
    with pytest.raises(UsageError, match=message):
        evaluate(attest, tmp_path)
    assert file.is_file()


def test_the_json_is_whole_and_flat(library: Assistant, tmp_path: Path) -> None:
    made = evaluate(library, lines(tmp_path / "questions.jsonl", OWN))
    body = evaluation_file.evaluation(made, each=True)
    assert json.loads(json.dumps(body)) == body
    assert list(body) == [
        "data", "kind", "collection", "encoder", "fingerprint", "documents", "chunks", "queries",
        "fusion_weight", "sides", "comparisons", "notes", "timings_ms", "per_query",
    ]  # fmt: skip
    first = body["sides"][0]
    assert (first["side"], first["relevance"], first["queries"]) == ("lexical", "document", 3)
    for metric in ("ndcg_at_10", "recall_at_10", "recall_at_100", "mrr_at_10", "map_at_100"):
        shares = [first[f"{metric}{end}_pct"] for end in ("_low", "", "_high")]
        assert shares == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 100
    assert len(body["per_query"]) == 3 * 3 + 3 * 2
    row = body["per_query"][0]
    assert (row["query_id"], row["rank"], row["ndcg_at_10_pct"]) == ("1", 1, 100)
