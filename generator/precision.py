"""Where a tensor of a checkpoint goes, and what it becomes there, in each precision."""

from typing import Literal

from torch import Tensor, nn

from generator.head import ShortlistHead
from generator.model import Generator
from transformer import runtime
from transformer.checkpoint import Place, set_parameter
from transformer.position import LearnedPositions
from transformer.quantize import Int8Linear, fits_int4, quantized

Precision = Literal["fp32", "int8", "int4"]


def placing(precision: Precision) -> Place:
    """Puts one tensor in its place within a generator; a matrix is quantised as it arrives."""
    match precision:
        case "fp32":
            return _whole
        case "int8":
            return _quantizing(8)
        case "int4":
            return _quantizing(4)


def _whole(model: nn.Module, name: str, tensor: Tensor) -> None:
    set_parameter(model, name, tensor.float())


def _quantizing(bits: Literal[4, 8]) -> Place:
    def place(model: nn.Module, name: str, tensor: Tensor) -> None:
        assert isinstance(model, Generator), "only a generator is quantised this way"
        owner_name, _, leaf = name.rpartition(".")
        owner = model.get_submodule(owner_name)
        if name == "head.weight":
            model.head = _head(tensor, bits)
        elif name == "embedding.weight" and model.head is None:
            model.head = _head(tensor, bits)
            set_parameter(model, name, model.head.dense)  # one copy for both uses
        elif isinstance(owner, nn.Linear) and leaf == "weight":
            # The bias may come before its matrix or after it, then as any other parameter.
            bias = None if owner.bias is None or owner.bias.is_meta else owner.bias
            model.set_submodule(owner_name, quantized(tensor, bias, bits=bits))
        elif isinstance(owner, nn.Embedding | LearnedPositions):
            set_parameter(model, name, tensor.to(runtime.fast_dtype()))
        else:
            _whole(model, name, tensor)

    return place


def _head(weight: Tensor, bits: Literal[4, 8]) -> ShortlistHead | Int8Linear:
    return ShortlistHead(weight) if bits == 4 and fits_int4(weight) else Int8Linear(weight)
