"""The generator's vote: the arithmetic, the seam in a search, and who gets a vote."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator import Writer
from generator.blocks import caches_of
from generator.likelihood import likelihoods_behind
from rag import Assistant
from rag.errors import NotFound
from rag.loaded import LoadedModels
from rag.prompts import SYSTEM
from rag.records import Hit, SearchResult
from rag.rerank import WEIGHT, Reranker, choose, passage, reranked, stretched
from rag.retrieve import retrieve
from rag.settings import Settings
from tests.generator.builders import generator, loaded, tokenizer

QUERY = "How long does the warranty of the lamp last?"


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(loaded(generator(seed=1, max_tokens=512), tokenizer()))


@pytest.fixture(scope="module")
def hits(
    tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path, shelf: Path
) -> tuple[Hit, ...]:
    """Three hits of a search and one more, of fused scores 1, .8, .5, .2."""
    home = tmp_path_factory.mktemp("home")
    with Assistant.open(Settings(home=home, encoder=str(encoder_folder), threads=1)) as attest:
        attest.add(shelf)
        found = attest.search("warranty batteries workshop", k=3).hits
    found += (replace(found[0], chunk=replace(found[0].chunk, id=99)),)
    scores = (1.0, 0.8, 0.5, 0.2)
    return tuple(replace(hit, score=score) for hit, score in zip(found, scores, strict=True))


def test_a_vote_adds_its_share_of_the_stretched_likelihood(hits: tuple[Hit, ...]) -> None:
    found = reranked(hits, np.array([-4.0, -2.0, -3.0], np.float32), 0.5)

    # 1 + .5 * 0, .8 + .5 * 1, .5 + .5 * .5, and the last one as it was
    assert [hit.score for hit in found] == pytest.approx([1.3, 1.0, 0.75, 0.2])
    assert [hit.chunk.id for hit in found] == [hits[i].chunk.id for i in (1, 0, 2, 3)]
    assert [hit.likelihood for hit in found] == [-2.0, -4.0, -3.0, None]
    assert [hit.rank for hit in found] == [1, 2, 3, 4]


def test_votes_that_agree_on_all_change_nothing(hits: tuple[Hit, ...]) -> None:
    found = reranked(hits, np.full(4, -3.0, np.float32), 1.0)

    assert [(hit.chunk, hit.score) for hit in found] == [(hit.chunk, hit.score) for hit in hits]
    assert reranked((), np.empty(0, np.float32), 1.0) == ()


@given(
    votes=st.lists(st.floats(-20, 0, width=16), min_size=1, max_size=4),
    weight=st.floats(0, 2, width=16),
)
def test_scores_fall_and_no_vote_costs_anything(
    hits: tuple[Hit, ...], votes: list[float], weight: float
) -> None:
    found = reranked(hits, np.array(votes, np.float32), weight)

    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    before = {hit.chunk.id: hit.score for hit in hits}
    assert all(hit.score >= before[hit.chunk.id] for hit in found)
    assert {hit.chunk.id for hit in found} == set(before)
    if not weight:
        assert [hit.chunk for hit in found] == [hit.chunk for hit in hits]


def test_likelihoods_are_stretched_from_0_to_1() -> None:
    assert stretched(np.array([-4, -2, -3], np.float32)).tolist() == [0, 1, 0.5]


def test_only_the_first_are_asked_and_read_under_their_headings(
    hits: tuple[Hit, ...], writer: Writer
) -> None:
    found = Reranker(writer, weight=0.3, top=2)(QUERY, hits)

    asked = {hit.chunk.id: hit.likelihood for hit in found if hit.likelihood is not None}
    passages = [passage(hit) for hit in hits[:2]]
    expected = likelihoods_behind(caches_of(writer, SYSTEM), QUERY, passages).tolist()
    assert asked == dict(zip((hit.chunk.id for hit in hits[:2]), expected, strict=True))
    under = next(hit for hit in hits if hit.chunk.heading)
    assert passage(under).split("\n")[0].endswith(under.chunk.heading[-1])
    assert passage(under).endswith(under.chunk.text)


def test_what_was_read_of_a_hit_is_kept_for_the_next_question(
    hits: tuple[Hit, ...], writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Reranker(writer, top=3)
    reranker(QUERY, hits)
    monkeypatch.setattr(writer.model, "hidden", None)  # would fail if a passage were read
    assert len(reranker("Who repairs it?", hits)) == len(hits)


def _searched(library: Assistant, reranker: Reranker | None, **options: object) -> SearchResult:
    name = library.settings.collection
    return retrieve(
        QUERY,
        collection=library.opened(name),
        embedder=library.encoders.of(name),
        reranker=reranker,
        **options,  # type: ignore[arg-type]
    )


def test_a_search_is_re_ranked_among_more_hits_than_it_shows(
    library: Assistant, writer: Writer
) -> None:
    heavy = Reranker(writer, weight=10.0, top=4)
    plain = _searched(library, None, k=4)
    expected = heavy(QUERY, plain.hits)

    found = _searched(library, heavy, k=2)

    assert found.hits == expected[:2]
    assert [hit.chunk for hit in found.hits] != [hit.chunk for hit in plain.hits[:2]]
    assert found.timings_ms["rerank"] > 0
    assert "rerank" not in plain.timings_ms


@pytest.mark.parametrize("mode", ["dense", "lexical"])
def test_one_side_alone_is_not_re_ranked(library: Assistant, writer: Writer, mode: str) -> None:
    found = _searched(library, Reranker(writer), k=3, mode=mode)

    assert found.hits == _searched(library, None, k=3, mode=mode).hits
    assert "rerank" not in found.timings_ms


@pytest.fixture
def models(settings: Settings, tmp_path: Path) -> LoadedModels:
    """Models of a machine that has no generator."""
    return LoadedModels(
        settings.model_copy(update={"models_dir": tmp_path, "generator": str(tmp_path / "none")})
    )


def test_nobody_votes_unless_asked_or_proven(models: LoadedModels) -> None:
    for asked, weight in ((False, 0.3), (None, 0.0), (False, 0.0)):
        assert choose(asked, weight, QUERY, fused=True, generator="none", models=models) == (
            None,
            (),
        )


def test_a_language_that_the_generator_lacks_is_not_voted_on(models: LoadedModels) -> None:
    question = "보증은 얼마나 가나?"
    found, notes = choose(True, 0.0, question, fused=True, generator="smollm2", models=models)
    assert found is None
    assert notes == ("생성 모델이 이 언어를 지원하지 않아 순위를 다시 매기지 않았습니다.",)
    # Nobody asked for it: a note at every question would say nothing new.
    assert choose(None, 0.3, question, fused=True, generator="smollm2", models=models) == (None, ())


def test_hits_of_one_side_are_not_voted_on(models: LoadedModels) -> None:
    def chosen(asked: bool | None) -> tuple[Reranker | None, tuple[str, ...]]:
        return choose(asked, 0.3, QUERY, fused=False, generator="none", models=models)

    assert chosen(True) == (
        None,
        ("Only hits found by meaning and words together are re-ranked.",),
    )
    assert chosen(None) == (None, ())


def test_a_missing_generator_stops_only_who_asked_for_it(models: LoadedModels) -> None:
    with pytest.raises(NotFound):
        choose(True, 0.0, QUERY, fused=True, generator="none", models=models)
    found, (note,) = choose(None, 0.3, QUERY, fused=True, generator="none", models=models)
    assert found is None
    assert note.startswith("The generator is not at hand: the hits were not re-ranked.")


def test_the_librarys_weight_counts_where_it_has_one(settings: Settings, tmp_path: Path) -> None:
    from generator import checkpoint

    folder = tmp_path / "writer"
    checkpoint.save(loaded(generator(), tokenizer()), folder)
    models = LoadedModels(settings.model_copy(update={"generator": str(folder)}))

    def weight(asked: bool | None, stored: float) -> float:
        found, notes = choose(
            asked, stored, QUERY, fused=True, generator=str(folder), models=models
        )
        assert found is not None
        assert notes == ()
        return found.weight

    assert weight(None, 0.2) == weight(True, 0.2) == 0.2
    assert weight(True, 0.0) == WEIGHT
