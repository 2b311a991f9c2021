"""Every error sentence of the library, and the checks that raise it.

A message says, in this order: which function, the rule in symbols, what arrived with its
shape, and where to look. Checks run before any arithmetic, so NumPy's own broadcasting
message is never what a reader sees.
"""

import importlib
import math
import operator
import sys

import numpy as np

_BEYOND = 2**48  # entries that no array can have

# How far from 1 a row of weights may sum. Numbers of 16 bits are rounded, and added up, more coarsely;
# and bfloat16, whose roundings change a sum by up to 2**-8, is often passed on as float32.
_ROUNDED = {"bfloat16": 2**-5, "float16": 2**-8, "float32": 2**-8}
_SUM_ROUNDED = 1e-3
_SMALLEST_ROUNDED = 2**-25  # half the step between the smallest numbers of float16


def as_numbers(where, name, value):
    """Return `value` as an array of floats, at least float32; never a changed input.

    Integers and booleans become float64 (an int8 product would wrap), float16 and bfloat16
    become float32 (float16 scores overflow early), wider floats stay as they are.
    """
    if type(value) is np.ndarray and value.dtype.kind == "f" and value.itemsize >= 4:
        return value  # what arrives most: fit as it is
    array = _real_array(where, name, value)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array


def as_matrix(where, name, value, axes):
    """Return `value` as floats with at least two axes, which the text `axes` names."""
    array = as_numbers(where, name, value)
    if array.ndim < 2:
        raise ValueError(
            f"{where}: {name} must have at least two axes, {axes}. Got shape {array.shape}. "
            f"A single row is a matrix too: np.array({name})[np.newaxis, :]."
        )
    return array


def as_rows(where, name, value):
    """Return `value` as floats with at least one axis."""
    array = as_numbers(where, name, value)
    if array.ndim == 0:
        raise ValueError(
            f"{where}: {name} must have at least one axis. Got the single number {array}. "
            "Put it in a list if a row of one is meant."
        )
    return array


def queries_and_keys(where, Q, K):
    """Return Q and K as floats that share d_k and whose batch axes broadcast."""
    Q = as_matrix(where, "Q", Q, "(n_q, d_k)")
    K = as_matrix(where, "K", K, "(n_k, d_k)")
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"{where}: Q and K must share their last axis, d_k. Q has shape {Q.shape} "
            f"(d_k = {Q.shape[-1]}), K has shape {K.shape} (d_k = {K.shape[-1]}). "
            "Was K passed already transposed?"
        )
    if Q.shape[-1] == 0:
        raise ValueError(
            f"{where}: d_k, the last axis of Q and K, must be at least 1. Q has shape {Q.shape}, "
            f"K has shape {K.shape}. Look at the slice that made them."
        )
    _check_batches(where, Q=Q, K=K)
    return Q, K


def weights_and_values(where, A, V):
    """Return A and V as floats with a column of A for each row of V."""
    A = as_matrix(where, "A", A, "(n_q, n_k)")
    V = as_matrix(where, "V", V, "(n_k, d_v)")
    if A.shape[-1] != V.shape[-2]:
        raise ValueError(
            f"{where}: A needs one column per row of V. A has shape {A.shape} "
            f"({A.shape[-1]} keys), V has shape {V.shape} ({V.shape[-2]} values). "
            "K and V must describe the same positions."
        )
    _check_batches(where, A=A, V=V)
    return A, V


def queries_keys_and_values(where, Q, K, V):
    """Return Q, K and V as floats that fit together."""
    Q, K = queries_and_keys(where, Q, K)
    V = as_matrix(where, "V", V, "(n_k, d_v)")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(
            f"{where}: K and V must share n_k, the number of keys. K has shape {K.shape} "
            f"(n_k = {K.shape[-2]}), V has shape {V.shape} (n_k = {V.shape[-2]}). "
            "K and V must describe the same positions."
        )
    _check_batches(where, Q=Q, K=K, V=V)
    return Q, K, V


def mask(where, value, scores, shape):
    """Return a mask, boolean or float, that fits the scores called `scores`, of this shape."""
    array = _real_array(where, "mask", value)
    if array.dtype.kind in "iu":
        raise TypeError(
            f"{where}: mask must be boolean (True may attend) or float (added to the scores). Got dtype "
            f"{array.dtype} and shape {array.shape}. If 1 may attend: mask.astype(bool). If 1 is hidden: "
            "mask == 0."
        )
    rule = f"mask must fit {scores}, (..., n_q, n_k) = {shape}; each axis equal or 1"
    if array.ndim == 0:
        raise ValueError(
            f"{where}: {rule}. Got the single value {array}. For a causal mask: causal_mask(n_q, n_k)."
        )
    *batch, n_q, n_k = (1, *array.shape)[-max(array.ndim, 2) :]
    if n_q not in (1, shape[-2]) or n_k not in (1, shape[-1]):
        advice = "Two axes are (n_q, n_k): rows are queries, columns are keys."
        if (n_k, n_q) == shape[-2:]:
            advice = "Is it turned round? Rows are queries, columns are keys."
        elif array.ndim == 2 and n_k == shape[-1]:
            advice += " If they are (batch, n_k): mask[:, np.newaxis, :], as padding_mask makes it."
        raise ValueError(f"{where}: {rule}. Got shape {array.shape}. {advice}")
    try:
        np.broadcast_shapes(batch, shape[:-2])
    except ValueError as error:
        raise ValueError(
            f"{where}: {rule}. Got shape {array.shape}, whose batch axes do not fit. Compare them from the "
            "right; heads need an axis of their own, as in mask[:, np.newaxis]."
        ) from error
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ValueError(
            f"{where}: a float mask is added to the scores, and must be finite or -inf. Got shape "
            f"{array.shape} with {np.isnan(array).sum()} entries NaN and {np.isposinf(array).sum()} entries "
            "+inf. Was it made as (1 - m) * -inf? 0 * -inf is NaN: use np.where(m, 0.0, -np.inf)."
        )
    return array


def scores_shape(Q, K, V):
    """Return the shape of the scores of Q and K, with the batch axes of all three."""
    return (*batch_axes(Q, K, V), Q.shape[-2], K.shape[-2])


def batch_axes(*arrays):
    """Return the axes before the last two, broadcast; NumPy's way takes its time when they are equal."""
    shapes = [array.shape[:-2] for array in arrays]
    return shapes[0] if shapes.count(shapes[0]) == len(shapes) else np.broadcast_shapes(*shapes)


def switch(where, name, value):
    """Return `value`, which must be True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(
            f"{where}: {name} must be True or False. Got {_brief(value)}. An array that says who may "
            "attend to whom is passed as mask."
        )
    return bool(value)


def count(where, name, value):
    """Return a number of positions as an int, 0 or more."""
    number = _whole_number(value)
    if number is None:
        raise TypeError(
            f"{where}: {name} must be a whole number, a number of positions. Got {_brief(value)}. "
            "For a matrix it is its number of rows: len(Q), len(K)."
        )
    if number < 0:
        raise ValueError(f"{where}: {name} must be 0 or more. Got {number}.")
    if number >= _BEYOND:
        raise ValueError(
            f"{where}: {name} must be the length of an array. Got {_brief_count(number)}."
        )
    return number


def offset(where, value):
    """Return the number of keys before that of query 0 as an int, which may be below 0."""
    number = _whole_number(value)
    if number is None:
        raise TypeError(
            f"{where}: offset must be a whole number, how many keys stand before the key of query 0. Got "
            f"{_brief(value)}. Where the queries are the last of the keys: n_k - n_q."
        )
    if abs(number) >= _BEYOND:
        raise ValueError(
            f"{where}: offset must be the length of an array, or minus that. Got {_brief_count(number)}."
        )
    return number


def causal_offset(where, value, causal):
    """Return the offset of a causal mask; without one there is nothing to move."""
    number = offset(where, value)
    if number and not causal:
        raise ValueError(
            f"{where}: offset says where the causal mask begins. Got offset = {number} with causal = False. "
            "Add causal=True, or leave offset out."
        )
    return number


def at_least_one(where, name, value):
    """Return `value` as an int from 1 up."""
    number = _whole_number(value)
    if number is None:
        raise TypeError(f"{where}: {name} must be a whole number, 1 or more. Got {_brief(value)}.")
    if number < 1:
        raise ValueError(f"{where}: {name} must be 1 or more. Got {number}.")
    return number


def tile(where, value):
    """Return the numbers of queries and of keys in a tile."""
    if not isinstance(value, (tuple, list)):
        value = (value, value)
    if len(value) != 2:
        raise ValueError(
            f"{where}: tile must be one number, or two: of queries and of keys. Got {value!r}."
        )
    return tuple(at_least_one(where, "tile", number) for number in value)


def bar(where, progress):
    """Return what to put around things that are waited for: a bar of tqdm, or nothing."""
    if not switch(where, "progress", progress):
        return iter
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(
            f"{where}: progress=True shows a bar of the package tqdm, which is not installed. Install it "
            'with "pip install tqdm", or leave progress out.'
        ) from error
    return tqdm


def partials(where, *values):
    """Return partial attentions of the same queries, as arrays of floats."""
    for value in values:
        if not all(hasattr(value, name) for name in ("maximum", "total", "output")):
            raise TypeError(
                f"{where}: it joins what partial_attention returned, with maximum, total and output. Got "
                f"{type(value).__name__}."
            )
    parts = [
        type(value)(*(as_numbers(where, name, getattr(value, name)) for name in value._fields))
        for value in values
    ]
    shapes = [tuple(array.shape for array in part) for part in parts]
    fit = all(maximum == total == output[:-1] for maximum, total, output in shapes)
    try:
        np.broadcast_shapes(*(output for _, _, output in shapes))
    except ValueError:
        fit = False
    if not fit or len({output[-2:] for _, _, output in shapes}) != 1:
        raise ValueError(
            f"{where}: maximum and total must have shape (..., n_q) and output (..., n_q, d_v), the same n_q and "
            f"d_v in each. Got shapes {' and '.join(map(str, shapes))}. Are they of the same queries?"
        )
    return parts


def lengths(where, value, n_k):
    """Return the lengths of padded sequences as integers from 0 to n_k."""
    array = _real_array(where, "lengths", value)
    if array.size == 0:
        array = array.astype(np.int64)  # NumPy makes an empty list a list of floats
    if array.dtype.kind not in "iu":
        advice = "Look at where they were counted."
        if array.dtype == bool:
            mask = (
                "it is a mask already: mask[:, np.newaxis, :]" if array.ndim > 1 else "count them"
            )
            advice = f"If True marks real keys, {mask}."
        raise TypeError(
            f"{where}: lengths must be whole numbers, one per sequence. Got dtype {array.dtype} and shape "
            f"{array.shape}. {advice}"
        )
    outside = (array < 0) | (array > n_k)
    if outside.any():
        raise ValueError(
            f"{where}: a length must be from 0 to n_k = {n_k}. Got {array[outside][0]}, in lengths with shape "
            f"{array.shape}. n_k is the length that every sequence was padded to."
        )
    return array


def key_width(where, d_k):
    """Return d_k as a positive int."""
    width = _whole_number(d_k)
    if width is None:
        raise TypeError(
            f"{where}: d_k must be a whole number, the last axis of Q and K. Got {d_k!r} "
            f"({type(d_k).__name__}). The square root is taken here: pass d_k, not sqrt(d_k)."
        )
    if width >= _BEYOND:
        raise ValueError(f"{where}: d_k must be the width of an array. Got {_brief_count(width)}.")
    if width < 1:
        raise ValueError(
            f"{where}: d_k must be at least 1. Got {width}. It is the last axis of Q and K: Q.shape[-1]."
        )
    return width


def finite(where, name, value, meaning):
    """Return `value` as a finite Python float, which keeps float32 arrays in float32."""
    # float() would take "0.5", an array of one, True, and the real part of a complex number.
    try:
        plain = not isinstance(value, np.ma.MaskedArray) and np.ndim(value) == 0
        number = float(value) if plain and np.asarray(value).dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise TypeError(
            f"{where}: {name} must be one number; {meaning}. Got {value!r} ({type(value).__name__})."
        )
    if not math.isfinite(number):
        raise ValueError(f"{where}: {name} must be finite; {meaning}. Got {number}.")
    return number


def softmax_axis(where, x, axis):
    """Check that `axis` names one axis of x."""
    position = _whole_number(axis)
    if position is None:
        raise TypeError(
            f"{where}: axis must be one whole number; -1 makes each row sum to 1. Got {axis!r} "
            f"for x with shape {x.shape}."
        )
    if not -x.ndim <= position < x.ndim:
        raise ValueError(
            f"{where}: axis must name an axis of x, from {-x.ndim} to {x.ndim - 1}. Got {position}; x has "
            f"shape {x.shape}. For attention it is the last one, -1."
        )


def distributions(where, name, value):
    """Return `value` as floats whose rows are distributions (or all zeros: an empty row)."""
    array = as_rows(where, name, value)
    total = array.sum(axis=-1)
    tolerance = _ROUNDED.get(np.asarray(value).dtype.name, _SUM_ROUNDED)
    tolerance += array.shape[-1] * _SMALLEST_ROUNDED  # of weights so small that each is rounded far
    wrong = (np.abs(total - 1) > tolerance) & (total != 0)  # a row with NaN has no sum to judge
    if (array < 0).any() or wrong.any():
        raise ValueError(
            f"{where}: the rows of {name} must be weights: no entry below 0, each row summing to 1. Got "
            f"shape {array.shape}, smallest entry {np.fmin.reduce(array, axis=None):.4g}, row sums from "
            f"{np.fmin.reduce(total, axis=None):.4g} to {np.fmax.reduce(total, axis=None):.4g}. "
            "Are these scores, before the softmax?"
        )
    return array


def row_of_weights(where, name, value):
    """Return one row of weights, which sums to 1, as floats."""
    array = distributions(where, name, value)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{where}: {name} must be one row of weights, (n_k,). Got shape {array.shape}. "
            "A row of the matrix is A[i]."
        )
    return array


def weights_of_heads(where, name, value):
    """Return the weights of all heads of a model, as floats."""
    array = as_numbers(where, name, value)
    if array.ndim != 4 or array.shape[2] != array.shape[3] or array.size == 0:
        raise ValueError(
            f"{where}: {name} must have shape (layers, heads, n, n). Got shape {array.shape}. "
            "all_weights(sentence) gives it."
        )
    return array


def gradient(where, name, value, of, shape):
    """Return a gradient as floats, of the shape of the array that it is the gradient of."""
    array = as_numbers(where, name, value)
    if array.shape != shape:
        raise ValueError(
            f"{where}: {name} must have the shape of {of}, {shape}: a gradient has a number for each entry. "
            f"Got shape {array.shape}. Was the loss averaged or summed over an axis too early?"
        )
    return array


def picture(where, name, value, boolean=False):
    """Return `value` as a matrix with two axes and at least one cell, fit to be drawn."""
    if boolean and (array := _real_array(where, name, value)).dtype != bool:
        raise TypeError(
            f'{where}: kind "mask" draws a boolean {name}, True where a query may attend. Got dtype '
            f'{array.dtype} and shape {array.shape}. A float mask is drawn with kind="scores".'
        )
    array = as_numbers(where, name, value)
    if array.ndim != 2:
        raise ValueError(
            f"{where}: {name} must have two axes, (rows, columns). Got shape {array.shape}. "
            f"Pick one matrix of a batch, for example {name}[0], or {name}[0, 0] for a head."
        )
    if array.size == 0:
        raise ValueError(
            f"{where}: {name} must have at least one row and one column. Got shape {array.shape}. "
            "There is nothing to draw."
        )
    return array


def mask_of_picture(where, value, name, shape):
    """Return a mask, boolean or float, for one matrix of this shape."""
    array = mask(where, value, name, shape)
    if array.ndim > 2:
        raise ValueError(
            f"{where}: mask must have two axes, as {name} has. Got shape {array.shape}. "
            "Pick one mask of the batch, for example mask[0]."
        )
    return array


def steps(where, value):
    """Return S, S_scaled, A and the output of one sequence and one head, fit to be drawn."""
    names = ("S", "S_scaled", "A", "output")
    if not all(hasattr(value, name) for name in names):
        raise TypeError(
            f"{where}: steps must be what attention_steps returned, with S, S_scaled, A and output. "
            f"Got {type(value).__name__}. scaled_dot_product_attention keeps only two of the four."
        )
    S, S_scaled, A, output = (picture(where, name, getattr(value, name)) for name in names)
    if not (S.shape == S_scaled.shape == A.shape and len(A) == len(output)):
        raise ValueError(
            f"{where}: S, S_scaled and A of the steps must have one shape, (n_q, n_k), and the output a row "
            f"per query. Got shapes {S.shape}, {S_scaled.shape}, {A.shape} and {output.shape}. Are they "
            "steps of one call?"
        )
    return [S, S_scaled, A, output]


def values_of_steps(where, V, A, output):
    """Return V as a matrix of numbers: the values that made these weights into this output."""
    V = picture(where, "V", V)
    wrong = ""
    if V.shape != (A.shape[1], output.shape[1]):
        wrong = f"Got shape {V.shape}."
    elif not _agree(A, V, output):
        wrong = f"Got that shape, but A V is not the output: it is {_first_row(A, V)} in row 0."
    if wrong:
        raise ValueError(
            f"{where}: V must have a row per key and a column per feature of the output, "
            f"(n_k, d_v) = {(A.shape[1], output.shape[1])}, and mixed by A it must give the output. "
            f"{wrong} Are these the values that the steps were made with?"
        )
    return V


@np.errstate(all="ignore")
def _agree(A, V, output):
    """Say whether A V is the output, as closely as half precision tells; infinities are not judged."""
    judged = np.isfinite(output)
    mixed = A @ np.where(np.isfinite(V), V, 0)
    size = np.abs(V[np.isfinite(V)]).max(initial=1)
    return bool((np.abs(mixed - output) <= 0.01 * size)[judged].all())


@np.errstate(all="ignore")
def _first_row(A, V):
    return np.array2string((A[:1] @ V)[0, :4], precision=3)


def row_of_steps(where, query, n_q):
    """Return `query` as the number of a row."""
    number = _whole_number(query)
    if number is None:
        raise TypeError(
            f"{where}: query must be the number of a row, counted from 0. Got {_brief(query)}. "
            "For a token: tokens.index('night')."
        )
    if not 0 <= number < n_q:
        raise ValueError(
            f"{where}: query must be one of the rows 0 to {n_q - 1}. Got {number}. There are {n_q} "
            "queries; a key of that number is a column."
        )
    return number


def panels(where, value):
    """Return `value`, a dict with at least one panel."""
    if not isinstance(value, dict) or not value:
        raise ValueError(
            f"{where}: panels must be a dict of titles and matrices, with at least one entry. "
            f"Got {type(value).__name__}{' without entries' if isinstance(value, dict) else ''}. "
            'For one matrix: {"title": M}.'
        )
    return value


def labels(where, name, value, count, what):
    """Return `value` as a list with one label for each of `count` rows or columns."""
    try:
        listed = list(range(count)) if value is None else list(value)
    except TypeError as error:
        raise TypeError(
            f"{where}: {name} needs one label per {what}, in a list. Got {value!r} "
            f"({type(value).__name__}) for {count} {what}s."
        ) from error
    if isinstance(value, str) or len(listed) != count:
        advice = (
            "Split the string: it is one label."
            if isinstance(value, str)
            else "Were rows and columns swapped?"
        )
        raise ValueError(
            f"{where}: {name} needs one label per {what}. Got {len(listed)} labels ({value!r}) "
            f"for {count} {what}s. {advice}"
        )
    return listed


def choice(where, name, value, allowed):
    """Check that `value` is one of the names in `allowed`."""
    if value not in list(allowed):  # a list, for the value may be something that no dict looks up
        raise ValueError(
            f"{where}: {name} must be one of {', '.join(map(repr, allowed))}. Got {value!r}."
        )


def text(where, name, value):
    """Return a text."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{where}: {name} must be a text, str. Got {_brief(value)}.")


def words_of_snapshot(where, sentence, words, known, whole, places):
    """Check that a snapshot of a model can read a sentence, given as (word, pieces) pairs.

    Parameters
    ----------
    where, sentence : str
        The function, and what it was given.
    words : list of (str, tuple of str)
        The words of the sentence, with the model's pieces of each.
    known : collection of str
        The pieces that the snapshot holds.
    whole : int
        How many pieces the model has.
    places : int
        How many tokens the snapshot has a place for.
    """
    if not words:
        raise ValueError(f"{where}: a sentence needs at least one word. Got {sentence!r}.")
    strange = {word: pieces for word, pieces in words if not set(pieces) <= set(known)}
    if strange:
        told = [_about_word(word, pieces, known) for word, pieces in list(strange.items())[:3]]
        more = f" And {len(strange) - 3} more." if len(strange) > 3 else ""
        raise ValueError(
            f"{where}: the snapshot knows {len(known)} of the model's {whole} word pieces. "
            f"{' '.join(told)}{more} known_words() lists them all."
        )
    count = 2 + sum(len(pieces) for _, pieces in words)
    if count > places:
        raise ValueError(
            f"{where}: a sentence has at most {places} tokens, with [CLS] and [SEP]. Got {count}. "
            "Cut it in two."
        )


def _about_word(word, pieces, known):
    import difflib  # here, for NumPy does not need it, and an unknown word is rare

    near = difflib.get_close_matches(word, [piece for piece in known if piece.isalpha()], 5, 0.6)
    shown = word if len(word) <= 40 else word[:39] + "…"
    cut = f", for the model {' + '.join(pieces)}" if 1 < len(pieces) < 8 else ""
    return f"Not {shown!r}{cut}; " + (
        f"near to it: {', '.join(near)}." if near else "nothing near."
    )


def layer_of_model(where, layer, count, holder):
    """Return the number of a layer, from 0."""
    return _number_below(where, "layer", layer, count, f"{holder} layers")


def head_of_model(where, head, count):
    """Return the number of a head, from 0."""
    return _number_below(where, "head", head, count, "a layer has heads")


def _number_below(where, name, value, count, holder):
    number = _whole_number(value)
    rule = f"{where}: {name} must be a whole number from 0: {holder} 0 to {count - 1}."
    if number is None:
        raise TypeError(f"{rule} Got {_brief(value)}.")
    if not 0 <= number < count:
        raise ValueError(f"{rule} Got {number}.")
    return number


def stored_sentence(where, tokens, stored, sentences, computed=0):
    """Return the place of a sentence among those that are stored, by its tokens."""
    if tokens in stored:
        return stored[tokens]
    rule = "what the whole model does is stored for a few sentences only"
    if computed:
        rule += f"; for others ask layers 0 to {computed - 1}"
    raise ValueError(
        f"{where}: {rule}. Got {' '.join(tokens[1:-1])!r}. Stored are: {' '.join(sentences)}"
    )


def sliders(where, draw, given, kind):
    """Refuse sliders that no page could show, and a figure that nothing draws."""
    if not callable(draw):
        raise TypeError(
            f"{where}: the first argument must be a function that draws, without its brackets. "
            f"Got {type(draw).__name__}. Was it called already?"
        )
    if not given:
        raise TypeError(
            f"{where}: a figure needs at least one slider, as score=Slider(start=0, low=-5, high=5). "
            "Got none. A figure that nothing moves is displayed by show."
        )
    for name, slider in given.items():
        if not isinstance(slider, kind):
            raise TypeError(
                f"{where}: {name} must be a Slider(start, low, high, step). "
                f"Got {_brief(slider)}. For a fixed number, write it into the function that draws."
            )
        if not (slider.low <= slider.start <= slider.high and slider.step > 0):
            raise ValueError(
                f"{where}: a slider starts between its limits, and its step is above 0. Got {name} with "
                f"start {slider.start}, low {slider.low}, high {slider.high}, step {slider.step}. "
                "Were start and low swapped?"
            )


def colour_limit(where, limit, kind):
    """Return the shared colour limit as a positive float."""
    if kind == "mask":
        raise ValueError(
            f"{where}: limit is for scores and values; a mask has no numbers. Leave it out."
        )
    if kind == "weights":
        raise ValueError(
            f"{where}: limit is for scores and values. Weights always use the colours from 0 to 1, so that "
            "two pictures can be compared. Leave limit out."
        )
    number = finite(where, "limit", limit, "the colours run from -limit to limit")
    if number <= 0:
        raise ValueError(
            f"{where}: limit must be above 0; the colours run from -limit to limit. Got {number}."
        )
    return number


def _real_array(where, name, value):
    """Return `value` as an array of real numbers, in its own dtype."""
    if _is_masked(value):
        shape = (
            f" with shape {value.shape}" if isinstance(value, np.ma.MaskedArray) else " in a list"
        )
        raise TypeError(
            f"{where}: {name} must be an ordinary array. Got a NumPy masked array{shape}, whose mask the "
            f"arithmetic would drop without a word. Fill it first, for example {name}.filled(0.0)."
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{where}: {name} must be a rectangular array of numbers. Got {type(value).__name__} "
            "whose rows differ in length. Look for the row that is too short or too long."
        ) from error
    if array.dtype.name == "bfloat16":  # of ml_dtypes, to NumPy a type that it knows nothing about
        return array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        advice = f"Look at where {name} was made."
        if array.dtype.kind == "V" and array.dtype.type is not np.void:  # float8, int4 and the like
            advice = f"Convert it first: {name}.astype(np.float32)."
        raise TypeError(
            f"{where}: {name} must hold real numbers. Got {type(value).__name__} with dtype "
            f"{array.dtype} and shape {array.shape}. {advice}"
        )
    return array


def _is_masked(value):
    """Say whether `value` is a masked array, or a list in which one is hidden."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray)


def _brief(value):
    """Return what arrived in a few words: an array by its shape, anything else as it is written."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array with shape {value.shape}"
    return f"{value!r} ({type(value).__name__})"


def _brief_count(number):
    """Return a large whole number in powers of 2, which never takes pages."""
    return f"about {'-' if number < 0 else ''}2**{number.bit_length() - 1}"


def _whole_number(value):
    """Return `value` as an int, or None if it is not one; True is no number."""
    try:
        return None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        return None


def _check_batches(where, **arrays):
    """Check that all axes before the last two broadcast against one another."""
    try:
        batch_axes(*arrays.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        names = " and ".join(arrays)
        raise ValueError(
            f"{where}: the axes of {names} before the last two are batch axes, and must be equal or 1. "
            f"{shapes}. Compare them from the right."
        ) from error


def package_of_clusters(where, name):
    """Return a module of the packages that work on a cluster, imported; say where there is none."""
    if sys.platform == "emscripten":
        raise ImportError(
            f"{where}: a cluster needs processes, and a page in a browser has none. Run this on a computer of "
            "your own, or use tiled_attention, which needs one process."
        )
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{where}: a cluster needs the packages dask and distributed, which are not installed. Install "
            'them with "pip install dask distributed", or use tiled_attention, which needs one process.'
        ) from error


def workers_here(where, addresses):
    """Check that workers are on this machine, where their numbers of processes are ours."""
    others = [address for address in addresses if not address.startswith("tcp://127.0.0.1:")]
    if others or not addresses:
        raise ValueError(
            f"{where}: every worker must be on this machine, at 127.0.0.1, as those that connect starts. Got "
            f"{', '.join(others) or 'no worker at all'}. To end one on another machine, go there, or unset "
            "DASK_SCHEDULER_ADDRESS."
        )
