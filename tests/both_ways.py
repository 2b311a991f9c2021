"""Attention as the tests call it: each time in tiles too, which must make the same output."""

import functools

import numpy as np
from numpy.testing import assert_allclose

import attention_lib
from attention_lib import tiled_attention

TILES = [1, (2, 3)]


@functools.wraps(attention_lib.scaled_dot_product_attention)
def scaled_dot_product_attention(Q, K, V, **how):
    output, A = attention_lib.scaled_dot_product_attention(Q, K, V, **how)
    for tile in TILES:
        tiled = tiled_attention(Q, K, V, tile=tile, **how)
        assert tiled.dtype == output.dtype
        assert tiled.shape == output.shape
        size = np.abs(output[np.isfinite(output)]).max(initial=1)
        precision = 1e-12 if output.dtype == A.dtype == np.float64 else 1e-5
        if any(np.asarray(array).dtype == np.float32 for array in (Q, K)):
            precision = 1e-5
        assert_allclose(tiled, output, rtol=precision, atol=float(precision * size))
    return output, A
