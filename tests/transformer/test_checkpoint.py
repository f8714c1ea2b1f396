"""A checkpoint is written whole or not at all, read from safetensors alone, and filled exactly."""

import errno
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.testing import assert_close

from tests.builders import bert_tokenizer, normal, randomised, wordpiece
from transformer import CheckpointError, Tokenizer, checkpoint
from transformer.runtime import seeded


def _module(seed: int = 0) -> nn.Sequential:
    return randomised(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), seeded(seed))


def _empty() -> nn.Sequential:
    with checkpoint.on_meta():
        return _module()


def _values(module: nn.Module) -> dict[str, Tensor]:
    return {name: p.detach() for name, p in module.named_parameters()}


# Writing


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    module, folder = _module(), tmp_path / "models" / "ours"
    left = folder.with_name(f".ours.{os.getpid()}.tmp")  # by a killed process of the same number
    left.mkdir(parents=True)
    (left / "half").touch()
    checkpoint.save(folder, config={"words": "도서관"}, module=module, tokenizer=bert_tokenizer())
    assert checkpoint.read_json(folder / "config.json") == {"format": "attest", "words": "도서관"}
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    loaded = _empty()
    checkpoint.fill(loaded, checkpoint.open_weights(folder).items(), source=folder)
    assert_close(_values(loaded), _values(module), atol=0, rtol=0)
    assert Tokenizer.load(folder / "tokenizer.json").to_json() == bert_tokenizer().to_json()
    assert [p.name for p in folder.parent.iterdir()] == ["ours"]


def test_a_checkpoint_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    with pytest.raises(CheckpointError, match="ours exists; give another folder or move it away"):
        checkpoint.save(tmp_path / "ours", config={}, module=_module(), tokenizer=bert_tokenizer())
    assert list((tmp_path / "ours").iterdir()) == []


def _whole(file: Path, value: float) -> None:
    checkpoint.write_whole(file, str(value).encode())


def _tensor(file: Path, value: float) -> None:
    checkpoint.write_tensors(file, {"a": torch.tensor(value)}, note={})


@pytest.mark.parametrize("write", [_whole, _tensor])
def test_a_file_that_cannot_be_written_stays_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, float], None]
) -> None:
    write(tmp_path / "file", 1.0)
    before = (tmp_path / "file").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space left"):
            write(tmp_path / "file", 2.0)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == before
    write(tmp_path / "file", 2.0)
    assert (tmp_path / "file").read_bytes() != before


def test_a_save_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        checkpoint.save(
            tmp_path / "ours",
            config={"path": tmp_path},
            module=_module(),
            tokenizer=bert_tokenizer(),
        )
    assert list(tmp_path.iterdir()) == []


# Reading


class _Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt"])
def test_pickle_is_named_and_never_read(tmp_path: Path, name: str) -> None:
    folder, trace = tmp_path / "theirs", tmp_path / "trace"
    folder.mkdir()
    (folder / name).write_bytes(pickle.dumps(_Trap(trace)))
    with pytest.raises(CheckpointError, match=f"no safetensors weights; {name} may run code"):
        checkpoint.open_weights(folder)
    assert not trace.exists()


def test_pickle_beside_safetensors_is_passed_over(tmp_path: Path) -> None:
    save_file({"a": normal(2)}, tmp_path / "model.safetensors")
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(_Trap(tmp_path / "trace")))
    assert_close(checkpoint.open_weights(tmp_path)["a"], normal(2))
    assert not (tmp_path / "trace").exists()


def test_no_weights_at_all(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds no safetensors weights$"):
        checkpoint.open_weights(tmp_path)


def test_shards_with_an_index_are_one_checkpoint(tmp_path: Path) -> None:
    shards = {"model-00001-of-00002": ["b", "d"], "model-00002-of-00002": ["a", "c"]}
    for shard, names in shards.items():
        tensors = {name: normal(2, seed=ord(name)) for name in names}
        save_file(tensors, tmp_path / f"{shard}.safetensors")
    index = {"weight_map": {n: f"{s}.safetensors" for s, names in shards.items() for n in names}}
    text = json.dumps(index)
    (tmp_path / "model.safetensors.index.json").write_text(text, encoding="utf-8")
    weights = checkpoint.open_weights(tmp_path)
    assert [name for name, _ in weights.items()] == ["a", "b", "c", "d"]
    for name, tensor in weights.items():
        assert_close(tensor, normal(2, seed=ord(name)), atol=0, rtol=0)
    assert "c" in weights
    assert "e" not in weights
    with pytest.raises(CheckpointError, match="holds no tensor 'e'"):
        weights["e"]


def _cut_in_half(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def _header_of_exabytes(whole: bytes) -> bytes:
    return (2**60).to_bytes(8, "little") + whole[8:]


def _not_safetensors(_: bytes) -> bytes:
    return b"<html>404</html>"


def _empty_file(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(
    "damage", [_cut_in_half, _header_of_exabytes, _not_safetensors, _empty_file]
)
def test_damaged_weights_are_named(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    path = tmp_path / "model.safetensors"
    save_file({"a": normal(100)}, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged or not safetensors"):
        checkpoint.open_weights(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"config\.json is missing"),
        (b"{", r"config\.json cannot be read: "),
        (b"\xff\xfe{}", r"config\.json cannot be read: "),
        (b"[1, 2]", r"config\.json must hold a JSON object"),
    ],
)
def test_json_errors_name_the_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.read_json(path)


# Filling


def _tensors(**changes: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Of `_module`, with changed or additional ones ("0_weight" for "0.weight")."""
    named = {name.replace("_", "."): tensor for name, tensor in changes.items()}
    yield from {**_values(_module()), **named}.items()


def test_a_wrong_shape_names_both(tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"0\.weight has shape \(4, 5\), the config asks for \(4, 3\)"
    ):
        checkpoint.fill(_empty(), _tensors(**{"0_weight": normal(4, 5)}), source=tmp_path)


def test_missing_parameters_are_counted_and_named(tmp_path: Path) -> None:
    tensors = [(name, tensor) for name, tensor in _tensors() if name.endswith("weight")]
    with pytest.raises(CheckpointError, match=r"no value for 2 parameters, first 0\.bias, 1\.bias"):
        checkpoint.fill(_empty(), tensors, source=tmp_path)


def test_unexpected_and_repeated_tensors_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"unexpected or repeated tensor '2\.weight'"):
        checkpoint.fill(_empty(), _tensors(**{"2_weight": normal(4)}), source=tmp_path)
    twice = [*_tensors(), *_tensors()]
    with pytest.raises(CheckpointError, match=r"unexpected or repeated tensor '0\.weight'"):
        checkpoint.fill(_empty(), twice, source=tmp_path)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn])
def test_weights_quantised_by_other_tools_are_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    narrow = normal(4, 3).to(dtype)
    with pytest.raises(CheckpointError, match=rf"0\.weight is stored as {dtype}"):
        checkpoint.fill(_empty(), _tensors(**{"0_weight": narrow}), source=tmp_path)


def test_half_weights_fill_as_they_are(tmp_path: Path) -> None:
    module = _empty()
    checkpoint.fill(module, ((n, t.bfloat16()) for n, t in _tensors()), source=tmp_path)
    assert {p.dtype for p in module.parameters()} == {torch.bfloat16}


def test_a_module_without_values_is_made_without_torchs_compiler() -> None:
    """Which takes seconds to load, and drawing values on the meta device would load it."""
    code = (
        "import sys; from torch import nn; from transformer import checkpoint\n"
        "with checkpoint.on_meta(): made = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))\n"
        "print({p.device.type for p in made.parameters()}, 'torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, check=True, text=True)
    assert ran.stdout == "{'meta'} False\n"


def test_place_may_convert_each_value(tmp_path: Path) -> None:
    def doubled(module: nn.Module, name: str, tensor: Tensor) -> None:
        checkpoint.set_parameter(module, name, 2 * tensor)

    module = _empty()
    checkpoint.fill(module, _tensors(), source=tmp_path, place=doubled)
    assert_close(_values(module), {name: 2 * tensor for name, tensor in _tensors()})


# Fingerprints


def test_a_fingerprint_is_of_config_weights_and_tokenizer(tmp_path: Path) -> None:
    paths = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for path in paths:
        save_file({path.stem: normal(3)}, path)
    tokenizer, config = bert_tokenizer(), {"prefix": "", "limit": 512}
    mark = checkpoint.fingerprint(config, paths, tokenizer)
    assert len(mark) == 16
    assert int(mark, 16) >= 0
    same = {"limit": 512, "prefix": ""}
    assert checkpoint.fingerprint(same, reversed(paths), bert_tokenizer()) == mark

    others = {
        checkpoint.fingerprint({**config, "prefix": "query: "}, paths, tokenizer),
        checkpoint.fingerprint({**config, "limit": 511}, paths, tokenizer),
        checkpoint.fingerprint(config, paths, Tokenizer(wordpiece(["w0"]))),
        checkpoint.fingerprint(config, paths[:1], tokenizer),
    }
    save_file({"b": normal(3, seed=1)}, paths[1])
    others.add(checkpoint.fingerprint(config, paths, tokenizer))
    assert len(others) == 5
    assert mark not in others
