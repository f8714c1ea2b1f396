"""The cache knows its length, gives back what was put in, and raises when it is full."""

import pytest
import torch
from torch.testing import assert_close

from tests.builders import normal
from transformer import Cache, LengthError
from transformer.cache import Joined


def _cache(dtype: torch.dtype = torch.float32) -> Cache:
    return Cache(n_layers=2, batch=3, n_kv_heads=2, capacity=6, head_width=4, dtype=dtype)


def _filled(positions: int) -> tuple[Cache, torch.Tensor, torch.Tensor]:
    """With keys and values (layers, b, g, t, e) of so many positions."""
    cache = _cache()
    k, v = normal(2, 3, 2, positions, 4, seed=1), normal(2, 3, 2, positions, 4, seed=2)
    for layer in range(2):
        cache.append(layer, k[layer], v[layer])
    cache.advance(positions)
    return cache, k, v


def test_append_gives_back_everything_so_far() -> None:
    cache, k, v = _filled(4)
    new_k, new_v = normal(3, 2, 2, 4, seed=3), normal(3, 2, 2, 4, seed=4)
    for layer in range(2):  # every layer of a pass sees the same length
        keys, values = cache.append(layer, new_k, new_v)
        assert_close(keys, torch.cat([k[layer], new_k], dim=2))
        assert_close(values, torch.cat([v[layer], new_v], dim=2))
    assert cache.length == 4
    cache.advance(2)
    assert (cache.length, cache.capacity) == (6, 6)


def test_full_names_both_numbers() -> None:
    cache, _, _ = _filled(4)
    room = torch.zeros(3, 2, 3, 4)
    with pytest.raises(LengthError, match="holds 6 positions and 7 are needed") as caught:
        cache.append(0, room, room)
    assert (caught.value.tokens, caught.value.limit) == (7, 6)
    assert cache.length == 4


def test_truncate_forgets_the_end() -> None:
    cache, k, _ = _filled(5)
    cache.truncate(2)
    assert cache.length == 2
    new = normal(3, 2, 1, 4, seed=5)
    keys, _ = cache.append(1, new, new)
    assert_close(keys, torch.cat([k[1, :, :, :2], new], dim=2))
    cache.truncate(0)
    assert cache.length == 0


@pytest.mark.parametrize("length", [-1, 6])
def test_truncate_stays_within_what_is_held(length: int) -> None:
    cache, _, _ = _filled(5)
    with pytest.raises(ValueError, match=rf"length \({length}\) must lie within 0 and 5"):
        cache.truncate(length)


def test_reorder_moves_rows_of_the_batch() -> None:
    cache, k, v = _filled(4)
    rows = [2, 0, 2]
    cache.reorder(torch.tensor(rows))
    new = normal(3, 2, 1, 4, seed=5)
    for layer in range(2):
        keys, values = cache.append(layer, new, new)
        assert_close(keys, torch.cat([k[layer, rows], new], dim=2))
        assert_close(values, torch.cat([v[layer, rows], new], dim=2))


def test_the_cache_holds_its_own_number_format() -> None:
    cache = _cache(torch.bfloat16)
    keys, values = cache.append(0, normal(3, 2, 1, 4), normal(3, 2, 1, 4))
    assert keys.dtype == values.dtype == torch.bfloat16


def test_extend_takes_every_layer_at_once_and_one_row_for_all() -> None:
    filled, k, v = _filled(4)
    cache = _cache()
    cache.extend(k[:, :, :, :3], v[:, :, :, :3])
    cache.extend(k[:, :1, :, 3:], v[:, :1, :, 3:])
    assert cache.length == 4
    assert_close(cache.keys[:, :, :, :3], filled.keys[:, :, :, :3])
    assert_close(cache.values[:, 2, :, 3], v[:, 0, :, 3])
    with pytest.raises(LengthError, match="holds 6 positions and 8 are needed"):
        cache.extend(k, v)


def test_joined_rows_hold_what_is_shared_their_own_and_the_pass() -> None:
    shared = normal(2, 1, 2, 3, 4, seed=1), normal(2, 1, 2, 3, 4, seed=2)
    own = [(normal(2, 2, n, 4, seed=10 + n), normal(2, 2, n, 4, seed=20 + n)) for n in (5, 1, 2)]
    cache = Joined(shared, own, room=2)
    seen = cache.mask
    assert seen.shape == (3, 1, 2, 10)
    new = normal(3, 2, 2, 4, seed=3), normal(3, 2, 2, 4, seed=4)
    for layer in range(2):
        got = cache.append(layer, *new)
        for part, all_rows in enumerate(got):
            assert all_rows.shape == (3, 2, 10, 4)
            for row in range(3):
                parts = shared[part][layer, 0], own[row][part][layer], new[part][row]
                assert_close(all_rows[row][:, seen[row, 0, 1]], torch.cat(parts, dim=1))
                assert_close(all_rows[row][:, seen[row, 0, 0]], torch.cat(parts, dim=1)[:, :-1])
    assert torch.isfinite(cache.keys).all()
