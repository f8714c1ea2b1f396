"""Matrix products in a few sizes, for a library that compiles one kernel for each.

oneDNN takes about 2 ms and 1 MB for every number of rows that it has not met, in each layer shape,
and remembers a thousand. Texts come in every length, so that a service would compile for most of
them and grow by half a gigabyte. Its tiles are 16 rows high: to fill the last one costs nothing.
"""

import os
from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

_TILE = 16  # rows
_FEW = 64  # rows, up to which the step is one tile
_MANY = 1024  # rows, from where on a new kernel is cheaper than rows for nothing
_KERNELS = "64"  # that are kept, of each of the two caches

# Read when the first product is taken.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _KERNELS)
os.environ.setdefault("LRU_CACHE_CAPACITY", _KERNELS)  # of ideep, torch's layer above oneDNN


def in_steps(x: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
    """`product` of the rows of x, with rows of zeros added where that makes their number common.

    Args:
        x: (..., in)
        product: (n, in) to (n, out), each row by itself

    Returns:
        (..., out)
    """
    rows = x.flatten(0, -2)
    n = rows.shape[0]
    missing = -n % _step(n)
    y = product(F.pad(rows, (0, 0, 0, missing)) if missing else rows)
    return y[:n].view(*x.shape[:-1], y.shape[-1])


def _step(n: int) -> int:
    if n > _MANY:
        return 1
    return _TILE if n <= _FEW else 2 * _TILE
