"""What training costs in arithmetic, to be set against what the machine could do."""

from collections.abc import Iterator

from torch import nn


def matrix_flops(model: nn.Module) -> float:
    """Operations of the linear layers for one token, forward and backward.

    Two for each weight on the way up, two for the gradient of its input and two for its own. A
    frozen weight has no gradient of its own, and below the first trained one nothing goes back at
    all. Attention's products and a head that reads some places alone are left out, so that a share
    of the peak is rather too low than too high.
    """
    trained_below = False
    total = 0
    for module in dict.fromkeys(_inside_first(model)):
        if not isinstance(module, nn.Linear):
            trained_below |= any(p.requires_grad for p in module.parameters(recurse=False))
            continue
        own = module.weight.requires_grad
        total += (2 + 2 * trained_below + 2 * own) * module.weight.numel()
        trained_below |= any(p.requires_grad for p in module.parameters())
    return float(total)


def _inside_first(module: nn.Module) -> Iterator[nn.Module]:
    """What a module is made of before itself: an adapter goes back through the layers above it, and
    not through the one that it is added to."""
    for child in module.children():
        yield from _inside_first(child)
    yield module
