"""XLM-R's SentencePiece vocabulary as a tokenizer.json.

Text is normalised as SentencePiece's `nmt_nfkc` does (Kudo & Richardson 2018), spaces become ▁,
one is put in front, and the most likely pieces are taken (Kudo 2018, §3.2).
"""

import json
from dataclasses import dataclass
from typing import Any

_SPACE = "▁"  # U+2581
_TILDE, _ASIDE = "～", "\ufdd0"  # the second is a noncharacter, which no text holds
# `nmt_nfkc` leaves the full-width tilde alone, which NFKC would fold.
_NORMALIZERS: list[dict[str, Any]] = [
    {"type": "Replace", "pattern": {"String": _TILDE}, "content": _ASIDE},
    {"type": "Nmt"},
    {"type": "NFKC"},
    {"type": "Replace", "pattern": {"String": _ASIDE}, "content": _TILDE},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
]
_METASPACE = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always", "split": True}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces by id with their log probabilities, and the ids that have a meaning."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    start_id: int
    end_id: int
    pad_id: int
    unknown_id: int


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """The tokenizer.json of a vocabulary.

    It is written here, not by the `tokenizers` library, so that it is the same to the byte
    whatever the library's version.
    """
    start, end = (vocabulary.pieces[i] for i in (vocabulary.start_id, vocabulary.end_id))
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(vocabulary.pieces[i], i) for i in _specials(vocabulary)],
        "normalizer": {"type": "Sequence", "normalizers": _NORMALIZERS},
        "pre_tokenizer": _METASPACE,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special(start), _sequence("A"), _special(end)],
            "pair": [_special(start), *map(_sequence, "AB"), _special(end)],
            "special_tokens": {
                token: {"id": token, "ids": [i], "tokens": [token]}
                for token, i in ((start, vocabulary.start_id), (end, vocabulary.end_id))
            },
        },
        "decoder": _METASPACE,
        "model": {
            "type": "Unigram",
            "unk_id": vocabulary.unknown_id,
            "vocab": list(zip(vocabulary.pieces, vocabulary.scores, strict=True)),
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _specials(vocabulary: Vocabulary) -> list[int]:
    named = {
        vocabulary.start_id,
        vocabulary.end_id,
        vocabulary.pad_id,
        vocabulary.unknown_id,
    }
    return sorted(named | {i for i, piece in enumerate(vocabulary.pieces) if piece == "<mask>"})


def _added(token: str, i: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": i, "content": token, **flags, "special": True}


def _special(token: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


def _sequence(name: str) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": 0}}
