"""The model's own arithmetic: embeddings, the heads of a layer, and what a layer makes of them.

`parameters` is a dict of arrays under the names that the model's file has. The functions work
for the whole model as for the part of it that the snapshot holds.
"""

import math

import numpy as np

LAYERS, HEADS, D_MODEL = 6, 12, 384
D_K = D_MODEL // HEADS
_EPSILON = 1e-12  # what the model was trained with

_erf = np.vectorize(math.erf, otypes=[float])


def embed(parameters, ids):
    """Return the input of layer 0: of each token its word, its place and its segment, normalised.

    Shape (n, d_model), for n rows of the table of word pieces.
    """
    X = (
        parameters["embeddings.word_embeddings.weight"][ids]
        + parameters["embeddings.position_embeddings.weight"][: len(ids)]
        + parameters["embeddings.token_type_embeddings.weight"][0]
    )
    return _layer_norm(parameters, "embeddings.LayerNorm", X)


def projections(parameters, layer, head):
    """Return W_Q, W_K, W_V (d_model, d_k) and b_Q, b_K, b_V (d_k,) of one head.

    The file has the twelve heads of a layer below one another, and each matrix transposed.
    """
    own = slice(head * D_K, (head + 1) * D_K)
    names = [f"encoder.layer.{layer}.attention.self.{role}" for role in ("query", "key", "value")]
    return (
        *(parameters[f"{name}.weight"][own].T for name in names),
        *(parameters[f"{name}.bias"][own] for name in names),
    )


def all_heads(parameters, layer, X):
    """Return Q, K and V of all heads of a layer, each of shape (heads, n, d_k)."""
    return tuple(
        _linear(parameters, f"encoder.layer.{layer}.attention.self.{role}", X)
        .reshape(len(X), HEADS, D_K)
        .swapaxes(0, 1)
        for role in ("query", "key", "value")
    )


def join_heads(parameters, layer, outputs):
    """Return what the heads' outputs (heads, n, d_v) add to X: side by side, then W_O and b_O."""
    side_by_side = outputs.swapaxes(0, 1).reshape(-1, D_MODEL)
    return _linear(parameters, f"encoder.layer.{layer}.attention.output.dense", side_by_side)


def after_layer(parameters, layer, X, outputs):
    """Return the next layer's X (n, d_model): the heads' outputs added, then the feed-forward part."""
    name = f"encoder.layer.{layer}"
    added = X + join_heads(parameters, layer, outputs)
    middle = _layer_norm(parameters, f"{name}.attention.output.LayerNorm", added)
    wide = _linear(parameters, f"{name}.intermediate.dense", middle)
    # GELU, in the form that the model was trained with.
    wide = wide / 2 * (1 + _erf(wide / math.sqrt(2)).astype(wide.dtype))
    added = middle + _linear(parameters, f"{name}.output.dense", wide)
    return _layer_norm(parameters, f"{name}.output.LayerNorm", added)


def _linear(parameters, name, X):
    return X @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def _layer_norm(parameters, name, X):
    centred = X - X.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
    return centred / size * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]
