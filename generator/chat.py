"""What a checkpoint says about talking: its chat template, and the tokens that end a turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer import checkpoint
from transformer.foreign.gguf import GGUFFile
from transformer.tokenizer import Tokenizer

# Checkpoints often name one end token and were trained on another: every known one stops.
_TURN_ENDS = (
    "</s>",
    "<end_of_turn>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_end|>",
)


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a model is spoken to and how it ends."""

    template: str | None  # Jinja; None where the model brings none
    bos: str  # text of the token that begins a prompt, for the template to write; "": none
    eos: str
    ends: tuple[int, ...]  # every id that ends an answer, ascending


def from_folder(folder: Path, tokenizer: Tokenizer) -> ChatFormat:
    """As a Hugging Face folder describes it, over up to five files.

    Raises:
        CheckpointError: one of them cannot be read.
    """
    described = _optional(folder / "tokenizer_config.json")
    model = checkpoint.read_json(folder / checkpoint.CONFIG)
    generation = _optional(folder / "generation_config.json")
    eos = _token(described.get("eos_token"))
    ids = [*_ids(generation.get("eos_token_id")), *_ids(model.get("eos_token_id"))]
    return _format(
        tokenizer,
        template=_template(folder, described),
        bos=_token(described.get("bos_token")),
        adds_bos=bool(tokenizer.encode_for_model([""])[0]),
        eos=eos,
        ends=[*ids, tokenizer.id_of(eos)],
    )


def from_gguf(file: GGUFFile, tokenizer: Tokenizer) -> ChatFormat:
    """As the metadata of a GGUF file describes it."""
    named = {
        name: file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        for name in ("bos", "eos", "eot", "eom")
    }
    return _format(
        tokenizer,
        template=file.metadata.get("tokenizer.chat_template"),
        bos=_text(named["bos"], tokenizer),
        adds_bos=bool(file.metadata.get("tokenizer.ggml.add_bos_token", False)),
        eos=_text(named["eos"], tokenizer),
        ends=[named["eos"], named["eot"], named["eom"]],
    )


def _format(
    tokenizer: Tokenizer,
    *,
    template: str | None,
    bos: str,
    adds_bos: bool,
    eos: str,
    ends: Iterable[int | None],
) -> ChatFormat:
    specials = tokenizer.special_tokens()
    known = [specials.get(token) for token in _TURN_ENDS]
    ids = {int(token) for token in (*ends, *known) if token is not None}
    # A template writes the first token where it wants one; without, the tokenizer's habit counts.
    wanted = bos if template is not None or adds_bos else ""
    return ChatFormat(template or None, wanted, eos, tuple(sorted(ids)))


def _template(folder: Path, described: Mapping[str, Any]) -> str | None:
    path = folder / "chat_template.jinja"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    found = described.get("chat_template")
    if isinstance(found, list):  # several, by name
        found = {entry.get("name"): entry.get("template") for entry in found}.get("default")
    return found


def _optional(path: Path) -> dict[str, Any]:
    return checkpoint.read_json(path) if path.is_file() else {}


def _ids(value: int | list[int] | None) -> list[int]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _token(value: str | Mapping[str, Any] | None) -> str:
    """A token's text, which is also stored as a record with flags."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value["content"])


def _text(token: int | None, tokenizer: Tokenizer) -> str:
    return "" if token is None else tokenizer.decode([token], specials=True)
