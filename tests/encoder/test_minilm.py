"""all-MiniLM-L6-v2 with its real weights, against sentence-transformers."""

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import platformdirs
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer as Backend

from encoder import Embedder
from tests import oracles
from transformer import LengthError

_INSTALLED = platformdirs.user_data_path("attest") / "models" / "minilm"
_FOLDER = Path(os.environ.get("ATTEST_TEST_MINILM") or _INSTALLED)

pytestmark = pytest.mark.skipif(
    not (_FOLDER / "model.safetensors").is_file(),
    reason="no weights: run `attest models pull minilm`, or name a folder in ATTEST_TEST_MINILM",
)

_SUBJECTS = {
    "en": ["The library", "Our laboratory", "A café in Malmö", "Invoice No. 4711-B", "NASA"],
    "ko": ["도서관은", "우리 연구실은", "서울의 카페는", "청구서 4711호는", "국립중앙박물관은"],
    "mixed": ["The 도서관", "GPU 서버는", "Kim 교수의 lab", "API 문서 v2.1은", "한강 Park"],
}
_EVENTS = {
    "en": ["is closed on Mondays", "was moved to the 3rd floor", "costs $12.50 (incl. VAT)"],
    "ko": ["월요일에 쉰다", "3층으로 옮겼다", "부가세 포함 1만 2,500원이다"],
    "mixed": ["월요일에 closed", "moved to 3층", "costs 12,500원 😀"],
}


def _sentences() -> Iterator[str]:
    """Of English, Korean and both in turn, of one clause, two or eight."""
    for i, language in zip(range(200), cycle(_SUBJECTS)):
        clauses = [
            f"{_SUBJECTS[language][(i + j) % 5]} {_EVENTS[language][(i + 2 * j) % 3]}"
            for j in range(8 if i % 60 < 3 else 1 + i // 3 % 2)
        ]
        yield f"{i}. {'; '.join(clauses)}."


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(_sentences())


@pytest.fixture(scope="module")
def reference() -> SentenceTransformer:
    return SentenceTransformer(str(_FOLDER), device="cpu", local_files_only=True)


@pytest.fixture(scope="module")
def expected(reference: SentenceTransformer, texts: list[str]) -> NDArray[np.float32]:
    return np.asarray(reference.encode(texts, show_progress_bar=False), dtype=np.float32)


@pytest.mark.parametrize(("dtype", "cosine"), [(torch.float32, 0.99999), (torch.bfloat16, 0.9995)])
def test_vectors_are_those_of_sentence_transformers(
    expected: NDArray[np.float32], texts: list[str], dtype: torch.dtype, cosine: float
) -> None:
    vectors = Embedder.load(_FOLDER, dtype=dtype).embed_documents(texts)
    cosines = oracles.cosines(torch.from_numpy(vectors), torch.from_numpy(expected))
    assert cosines.min() >= cosine


def test_ids_are_those_of_its_own_tokenizer(texts: list[str]) -> None:
    embedder = Embedder.load(_FOLDER, dtype=torch.float32)
    backend = Backend.from_file(str(_FOLDER / "tokenizer.json"))
    backend.no_padding()
    backend.no_truncation()
    expected = [row.ids for row in backend.encode_batch(texts)]
    assert embedder.tokenizer.encode_for_model(texts) == expected
    assert [embedder.count(text) for text in texts] == [len(ids) for ids in expected]
    assert max(map(len, expected)) > 128  # more than the file itself would leave
    assert min(map(len, expected)) < 16


def test_the_limit_is_that_of_its_training() -> None:
    embedder = Embedder.load(_FOLDER, dtype=torch.float32)
    assert (embedder.max_tokens, embedder.dimensions) == (256, 384)
    assert embedder.embed_documents(["word " * 254]).shape == (1, 384)
    with pytest.raises(LengthError, match="257 tokens is over the encoder's limit of 256"):
        embedder.embed_documents(["word " * 255])
