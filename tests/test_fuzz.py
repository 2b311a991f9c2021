"""Random inputs of every kind for every function of the maths, judged number by number.

FUZZ_EXAMPLES=5000 in the environment makes a long run, with new examples each time;
--hypothesis-seed repeats one.
"""

import functools
import math
import os
from types import SimpleNamespace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from attention_lib import (
    apply_mask,
    attention_scores,
    attention_steps,
    causal_mask,
    merge,
    padding_mask,
    partial_attention,
    row_entropy,
    scale_scores,
    scaled_dot_product_attention,
    softmax,
    softmax_jacobian,
    tiled_attention,
    weighted_values,
)

EXAMPLES = os.environ.get("FUZZ_EXAMPLES")


def fuzz(share):
    """Run a test with a share of the examples."""
    return settings(
        max_examples=math.ceil(share * int(EXAMPLES or 300)),
        derandomize=EXAMPLES is None,
        suppress_health_check=[HealthCheck.too_slow],
    )


FLOATS = ["float16", "float32", ">f4", "float64"]
DTYPES = ["bool", "int8", "uint8", "int64", *FLOATS, *FLOATS]

LAYOUTS = {
    "plain": np.copy,
    "Fortran": np.asfortranarray,
    "backwards": lambda array: np.flip(np.flip(array).copy()),
    "every second": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "list": lambda array: array.tolist() if array.size else array,
}


def magnitudes(dtype):
    """Return sizes of numbers from the smallest to the largest whose products do not overflow."""
    if dtype.kind != "f":
        return [2, 2, 100, np.iinfo(dtype).max if dtype.kind in "iu" else 1]
    limits = np.finfo(dtype)
    root = math.sqrt(limits.max) / 16
    return [1, 1, 1, 30, 1e-3, root, 1 / root, float(limits.smallest_normal)]


def chance(one_in):
    """Say yes once in so many examples; the simplest example says no."""
    return st.integers(0, one_in - 1).map(lambda number: number == one_in - 1)


@st.composite
def numbers(draw, shape, spoilt=True):
    """Draw an array of any kind; now and then it overflows, or NaN or inf stand in it."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from(magnitudes(dtype)))
    if spoilt and dtype.kind == "f" and draw(chance(12)):
        size = float(np.finfo(dtype).max) / 8
    if dtype.kind == "f":
        array = np.array(random.uniform(-1, 1, shape) * size, dtype)
        if draw(chance(5)):
            array = np.array(np.round(array))  # for equal scores, and zeros
        if spoilt and array.size and draw(chance(5)):
            places = random.integers(array.size, size=draw(st.integers(1, 3)))
            array.flat[places] = random.choice([np.nan, np.inf, -np.inf], len(places))
    else:
        low = -size if dtype.kind == "i" else 0
        array = np.array(random.integers(low, size, shape, endpoint=True)).astype(dtype)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](array)


def axes(draw, batch, *last):
    """Draw a shape whose batch axes broadcast to `batch`, or now and then one that does not fit."""
    kept = batch[draw(st.integers(0, len(batch))) :]
    shape = [draw(st.sampled_from([1, n, n])) for n in kept] + list(last)
    if draw(chance(12)):
        shape[draw(st.integers(0, len(shape) - 1))] += draw(st.sampled_from([1, 3]))
    if draw(chance(30)):
        shape = shape[: draw(st.sampled_from([len(shape) - 1, 1, 0]))]
    return tuple(shape)


sides = st.sampled_from([1, 2, 3, 4, 0])
batches = st.sampled_from([(), (2,), (3, 2), (1,), (0,), (2, 1, 2)])


@st.composite
def masks(draw, batch, n_q, n_k):
    """Draw a mask of any kind, whole numbers and shapes that do not fit included."""
    rows_and_columns = [draw(st.sampled_from([n, n, n, 1])) for n in (n_q, n_k)]
    shape = axes(draw, batch, *rows_and_columns)
    if draw(chance(10)):
        shape = shape[-1:] if draw(st.booleans()) else ()
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    visible = random.random(shape) < draw(st.sampled_from([0.6, 0.6, 0.95, 0.1, 0, 1]))
    kind = draw(st.sampled_from(["bool", "bool", "float", "float", "zeros", "other"]))
    if kind == "bool":
        array = visible
    elif kind == "other":
        return draw(numbers(shape))
    else:
        dtype = draw(st.sampled_from(FLOATS))
        size = 0 if kind == "zeros" else draw(st.sampled_from(magnitudes(np.dtype(dtype))))
        array = np.where(visible, random.uniform(-1, 1, shape) * size, -np.inf).astype(dtype)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](np.asarray(array))


def run(function, fits, *arrays, **others):
    """Call the function and return what it made; None if it refused what does not fit.

    No warning, no other error, no input changed, no memory shared, whatever comes.
    """
    every = [*arrays, *(value for value in others.values() if isinstance(value, np.ndarray | list))]
    before = [np.array(array) for array in every]
    made = refusal = None
    try:
        with np.errstate(all="raise"):
            made = function(*arrays, **others)
    except (ValueError, TypeError) as error:
        refusal = str(error)
    for array, old in zip(every, before, strict=True):
        assert_array_equal(array, old)
    if refusal is not None:
        assert refusal.startswith(f"{function.__name__}: ")
        assert not fits, refusal
        return None
    assert fits
    for result in made if isinstance(made, tuple) else (made,):
        for array in every:
            assert not (isinstance(array, np.ndarray) and np.may_share_memory(result, array))
    return made


def float_dtype(*arrays):
    """Return the dtype of results: NumPy's promotion, float16 as float32, integers as float64."""
    kinds = [np.asarray(array).dtype.newbyteorder("=") for array in arrays]
    special = {"float16": "float32", "bool": "float64"}
    return np.result_type(
        *(special.get(kind.name, "float64" if kind.kind in "iu" else kind) for kind in kinds)
    )


def broadcast(*shapes):
    """Return what the shapes broadcast to, counted by hand from the right; None if they do not."""
    longest = max(map(len, shapes))
    result = []
    for axis in zip(
        *((1,) * (longest - len(shape)) + tuple(shape) for shape in shapes), strict=True
    ):
        lengths = set(axis) - {1} or {1}
        if len(lengths) > 1:
            return None
        result.extend(lengths)
    return tuple(result)


def mask_fits(mask, shape):
    """Say whether a mask is boolean or float, and fits scores of this shape."""
    mask = np.asarray(mask)
    if mask.dtype.kind not in "bf" or mask.ndim == 0:
        return False
    if mask.dtype.kind == "f" and (np.isnan(mask) | (mask == np.inf)).any():
        return False
    rows_and_columns = (1, *mask.shape)[-2:]
    return all(n in (1, m) for n, m in zip(rows_and_columns, shape[-2:], strict=True)) and (
        broadcast(mask.shape[:-2], shape[:-2]) is not None
    )


def spread(array, shape):
    """Return the array repeated along all axes of the shape, as nested Python numbers."""
    return np.broadcast_to(np.asarray(array, float), shape)


def total(terms):
    """Return the sum of products, and the sum of the magnitudes of those that are finite."""
    products = [a * b for a, b in terms]
    return sum(products), sum(abs(a * b) for a, b in terms if math.isfinite(a) and math.isfinite(b))


def judge(made, shape, dtype, expect, steps=16, precision=None):
    """Compare a result, entry by entry, with `expect(index)`: its number, and the size of its terms.

    NaN and inf must stand exactly where expected. Where a sum may overflow on its way, the result
    says nothing. `precision` is the dtype it was computed in, if not in its own.
    """
    assert isinstance(made, np.ndarray | np.generic)
    assert made.shape == tuple(shape)
    assert made.dtype == dtype
    assert made.dtype.isnative
    limits = np.finfo(precision or dtype)
    for index in np.ndindex(*shape):
        got, (expected, size) = float(made[index]), expect(index)
        if size > float(limits.max) / 2:
            continue
        if not math.isfinite(expected):
            assert got == expected or (math.isnan(got) and math.isnan(expected))
        else:
            margin = steps * float(limits.eps) * size + 8 * float(limits.smallest_normal)
            assert abs(got - expected) <= margin, (index, got, expected)


def judge_scores(S, Q, K):
    shape = (*broadcast(np.shape(Q)[:-2], np.shape(K)[:-2]), np.shape(Q)[-2], np.shape(K)[-2])
    Q, K, dtype = np.asarray(Q), np.asarray(K), float_dtype(Q, K)
    all_Q = spread(Q, (*shape[:-2], *Q.shape[-2:])).tolist()
    all_K = spread(K, (*shape[:-2], *K.shape[-2:])).tolist()

    def expect(index):
        *batch, i, j = index
        q, k = all_Q, all_K
        for b in batch:
            q, k = q[b], k[b]
        return total(list(zip(q[i], k[j], strict=True)))

    judge(S, shape, dtype, expect)


def judge_masked(made, S, factor, mask, causal=False):
    """Compare with S * factor, to which the mask has been added, or which it has hidden."""
    mask = np.asarray(True if mask is None else mask)
    shape = (*broadcast(S.shape[:-2], mask.shape[:-2]), *S.shape[-2:])
    dtype = float_dtype(S, mask) if mask.dtype.kind == "f" else float_dtype(S)
    all_S, all_masks = spread(S, shape), spread(mask, shape)

    def expect(index):
        value, added = float(all_S[index]), float(all_masks[index])
        if mask.dtype == bool:
            added = 0.0 if added else -math.inf
        if added == -math.inf or (causal and index[-1] > index[-2]):
            return -math.inf, 0
        size = abs(value * factor) + abs(added)
        return value * factor + added, size if math.isfinite(value) else 0

    judge(made, shape, dtype, expect, precision=S.dtype)


def judge_weights(A, x):
    """Compare with the softmax along the last axis. Rounding grows with the largest exponent."""
    rows = np.asarray(x, float)
    made = {}

    def expect(index):
        if index[:-1] not in made:
            row = rows[index[:-1]].tolist()
            top = max(row)
            if any(math.isnan(score) or score == math.inf for score in row):
                made[index[:-1]] = [math.nan] * len(row)
            elif top == -math.inf:
                made[index[:-1]] = [0.0] * len(row)
            else:
                exponentials = [math.exp(score - top) for score in row]
                made[index[:-1]] = [e / math.fsum(exponentials) for e in exponentials]
        weight = made[index[:-1]][index[-1]]
        return weight, weight if math.isfinite(weight) else 0

    judge(A, np.shape(x), float_dtype(x), expect, steps=1000)


def judge_output(output, A, V):
    shape = (*broadcast(np.shape(A)[:-2], np.shape(V)[:-2]), np.shape(A)[-2], np.shape(V)[-1])
    A, V, dtype = np.asarray(A), np.asarray(V), float_dtype(A, V)
    all_A, all_V = spread(A, (*shape[:-2], *A.shape[-2:])), spread(V, (*shape[:-2], *V.shape[-2:]))

    def expect(index):
        *batch, i, c = index
        pairs = zip(
            all_A[(*batch, i)].tolist(), all_V[(*batch, slice(None), c)].tolist(), strict=True
        )
        return total([(a, v) for a, v in pairs if a != 0])  # nothing comes with a weight of 0

    judge(output, shape, dtype, expect)


def fit(Q, K, V=None, mask=None):
    """Say whether inputs of these shapes, and the mask, can be attended with."""
    shapes = [np.shape(array) for array in (Q, K, V) if array is not None]
    if min(map(len, shapes)) < 2 or not shapes[0][-1] == shapes[1][-1] > 0:
        return False
    batch = broadcast(*(shape[:-2] for shape in shapes))
    if batch is None or (V is not None and shapes[1][-2] != shapes[2][-2]):
        return False
    return mask is None or mask_fits(mask, (*batch, shapes[0][-2], shapes[1][-2]))


SCALES = [None, None, None, 0.5, -2, 0, 1e-30, 1e30, np.float32(0.25), np.float64(3), np.array(2)]
NO_SCALES = [math.nan, math.inf, "0.5", True, [1.0], 1j]


@st.composite
def attention_inputs(draw):
    batch = draw(batches)
    n_q, n_k, d_v = (draw(sides) for _ in range(3))
    d_k = draw(st.sampled_from([1, 2, 3, 4, 4, 0]))
    Q, K, V = (
        draw(numbers(axes(draw, batch, *last))) for last in ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    )
    mask = draw(masks(batch, n_q, n_k)) if draw(st.booleans()) else None
    causal = draw(st.sampled_from([False, True, False, True, np.True_, np.False_]))
    scale = draw(st.sampled_from(SCALES))
    if draw(chance(12)):
        causal = draw(st.sampled_from([None, 0, 1, "yes", np.array([True])]))
    if draw(chance(12)):
        scale = draw(st.sampled_from(NO_SCALES))
    return SimpleNamespace(Q=Q, K=K, V=V, mask=mask, causal=causal, scale=scale)


@fuzz(1)
@given(attention_inputs())
def test_attention(given_inputs):
    Q, K, V, mask, causal, scale = vars(given_inputs).values()
    fits = (
        fit(Q, K, V, mask)
        and isinstance(causal, bool | np.bool_)
        and any(scale is good for good in SCALES)
    )
    options = {"mask": mask, "causal": causal, "scale": scale}
    steps = run(attention_steps, fits, Q, K, V, **options)
    pair = run(scaled_dot_product_attention, fits, Q, K, V, **options)
    if fits:
        factor = 1 / math.sqrt(np.shape(Q)[-1]) if scale is None else float(scale)
        judge_scores(steps.S, Q, K)
        judge_masked(steps.S_scaled, steps.S, factor, mask, causal)
        judge_weights(steps.A, steps.S_scaled)
        judge_output(steps.output, steps.A, V)
        assert_array_equal(pair[0], steps.output)
        assert_array_equal(pair[1], steps.A)


@fuzz(1 / 4)
@given(attention_inputs())
def test_only_what_an_input_announces_is_nan(given_inputs):
    Q, K, V, mask, causal, _ = vars(given_inputs).values()
    if not fit(Q, K, V, mask) or not isinstance(causal, bool | np.bool_):
        return
    steps = attention_steps(Q, K, V, mask=mask, causal=causal)
    if np.isfinite(steps.S).all() and not (steps.S_scaled == np.inf).any():
        assert not np.isnan(steps.A).any()
        if np.isfinite(np.asarray(V, float)).all():
            assert np.isfinite(steps.output).all()
        totals = steps.A.sum(axis=-1)
        seen = (steps.S_scaled > -np.inf).any(axis=-1)
        assert (np.abs(totals - seen) < 1e-5).all()


@fuzz(1 / 2)
@given(
    attention_inputs(),
    st.sampled_from([1, 2, 3, (2, 1), (1, 3), (300, 1)]),
    st.sampled_from([0, 0, 1, 3, -1, -4]),
)
def test_tiles_and_merged_blocks_make_the_output_of_the_plain_function(given_inputs, tile, offset):
    Q, K, V, mask, causal, scale = vars(given_inputs).values()
    fits = (
        fit(Q, K, V, mask)
        and isinstance(causal, bool | np.bool_)
        and any(scale is good for good in SCALES)
    )
    options = {"mask": mask, "causal": causal, "scale": scale, "offset": offset if causal else 0}
    output = run(tiled_attention, fits, Q, K, V, **options, tile=tile)
    if not fits:
        return
    steps = attention_steps(Q, K, V, **options)
    assert output.dtype == steps.output.dtype
    assert output.shape == steps.output.shape
    with np.errstate(all="ignore"):
        sizes = abs(np.asarray(Q, float)) @ abs(np.asarray(K, float)).swapaxes(-1, -2)
        largest = np.nanmax(abs(steps.S_scaled), initial=0, where=np.isfinite(steps.S_scaled))
    rounding = float(np.finfo(np.result_type(steps.S, np.float32)).eps)
    in_range = np.isfinite(steps.S).all() and (sizes < np.finfo(steps.S.dtype).max / 4).all()
    if not in_range or max(largest, np.nanmax(sizes, initial=0)) * rounding > 1e-3:
        return  # sums that overflow on the way, or scores whose last digits are as large as they
    judged_as(output, steps.output, V, (largest + 40) * rounding)
    whole = functools.reduce(merge, in_blocks(Q, K, V, options))
    if np.isfinite(np.asarray(V, float)).all():
        judged_as(whole.output, steps.output, V, (largest + 40) * rounding)


def judged_as(output, expected, V, precision):
    """Compare outputs, up to some rounding of the largest value."""
    values = np.asarray(V, float)
    largest = abs(values[np.isfinite(values)]).max(initial=0)
    smallest = float(np.finfo(expected.dtype).smallest_normal)
    tolerance = 8 * precision * largest + 64 * smallest
    np.testing.assert_allclose(output.astype(float), expected, rtol=0, atol=tolerance)


def in_blocks(Q, K, V, options):
    """Attend to the first key alone, and to the others."""
    Q, K, V = map(np.asarray, (Q, K, V))
    mask = options["mask"]
    for keys in (slice(0, 1), slice(1, None)):
        here = dict(options)
        if mask is not None and np.shape(mask)[-1] > 1:
            here["mask"] = np.asarray(mask)[..., keys]
        if options["causal"]:
            here["offset"] -= keys.start
        yield partial_attention(Q, K[..., keys, :], V[..., keys, :], **here)


@st.composite
def two_matrices(draw, name):
    batch = draw(batches)
    n_q, n_k, width = (draw(sides) for _ in range(3))
    last = {"scores": ((n_q, width), (n_k, width)), "values": ((n_q, n_k), (n_k, width))}[name]
    return [draw(numbers(axes(draw, batch, *sizes))) for sizes in last]


@fuzz(1 / 3)
@given(two_matrices("scores"))
def test_attention_scores(Q_and_K):
    S = run(attention_scores, fit(*Q_and_K), *Q_and_K)
    if S is not None:
        judge_scores(S, *Q_and_K)


@fuzz(1 / 3)
@given(two_matrices("values"))
def test_weighted_values(A_and_V):
    A, V = map(np.shape, A_and_V)
    fits = min(len(A), len(V)) > 1 and A[-1] == V[-2]
    output = run(weighted_values, fits and broadcast(A[:-2], V[:-2]) is not None, *A_and_V)
    if output is not None:
        judge_output(output, *A_and_V)


@st.composite
def scores_and_mask(draw):
    batch = draw(batches)
    n_q, n_k = draw(sides), draw(sides)
    return draw(numbers(axes(draw, batch, n_q, n_k))), draw(masks(batch, n_q, n_k))


@fuzz(1 / 3)
@given(scores_and_mask())
def test_apply_mask(inputs):
    S_scaled, mask = inputs
    fits = np.ndim(S_scaled) > 1 and mask_fits(mask, np.shape(S_scaled))
    made = run(apply_mask, fits, S_scaled, mask)
    if made is not None:
        floats = np.asarray(S_scaled).astype(float_dtype(S_scaled))
        judge_masked(made, floats, 1.0, mask)


@st.composite
def any_numbers(draw):
    return draw(numbers(axes(draw, draw(batches), draw(sides), draw(sides))))


@fuzz(1 / 3)
@given(any_numbers(), st.sampled_from([-1, -1, 0, 1, -2, 5, None, 1.0, np.int64(-1)]))
def test_softmax(x, axis):
    dims = np.ndim(x)
    fits = isinstance(axis, int | np.integer) and -dims <= axis < dims
    A = run(softmax, fits, x, axis=axis)
    if A is not None:
        floats = np.asarray(x).astype(float_dtype(x))
        judge_weights(np.moveaxis(A, axis, -1), np.moveaxis(floats, axis, -1))


@fuzz(1 / 3)
@given(any_numbers(), st.sampled_from([1, 4, 7, 512, np.int8(3), 0, -4, 4.0, True, None]))
def test_scale_scores(S, d_k):
    fits = isinstance(d_k, int | np.integer) and not isinstance(d_k, bool) and d_k > 0
    S_scaled = run(scale_scores, fits, S, d_k=d_k)
    if S_scaled is not None:
        floats, root = np.asarray(S, float), math.sqrt(d_k)
        judge(
            S_scaled,
            floats.shape,
            float_dtype(S),
            lambda index: (
                float(floats[index]) / root,
                np.nan_to_num(abs(floats[index]), posinf=0),
            ),
        )


@fuzz(1 / 3)
@given(any_numbers(), st.booleans())
def test_entropy_and_jacobian_of_weights_and_of_what_is_none(x, weigh):
    A = softmax(x) if weigh and np.ndim(x) else x
    rows = np.asarray(A, float)
    fits = rows.ndim > 0
    if fits and not weigh:
        with np.errstate(all="ignore"):
            sums = rows.sum(axis=-1)
            coarse = np.asarray(A).dtype.name in {"float16", "float32"}
            tolerance = 2**-8 if coarse else 1e-3
            fits = not ((rows < 0).any() or ((abs(sums - 1) > tolerance) & (sums != 0)).any())
    H, J = run(row_entropy, fits, A), run(softmax_jacobian, fits, A)
    if not fits:
        return
    judge(
        np.asarray(H),
        rows.shape[:-1],
        float_dtype(A),
        lambda index: (math.fsum(-a * math.log(a) if a else 0.0 for a in rows[index].tolist()), 10),
    )

    def expect(index):
        *row, j, k = index
        a = rows[tuple(row)].tolist()
        return a[j] * ((j == k) - a[k]), 1

    judge(J, (*rows.shape, rows.shape[-1]), float_dtype(A), expect)


counts = st.sampled_from([1, 2, 3, 5, 0, np.int64(4), np.uint8(2), -1, 2.0, True, None, "2"])


def is_count(value):
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and value >= 0


@fuzz(1 / 6)
@given(counts, counts)
def test_causal_mask(n_q, n_k):
    mask = run(causal_mask, is_count(n_q) and (n_k is None or is_count(n_k)), n_q=n_q, n_k=n_k)
    if mask is not None:
        columns = range(n_q if n_k is None else n_k)
        expected = [[j <= i for j in columns] for i in range(n_q)]
        assert mask.dtype == bool
        assert mask.shape == (n_q, len(columns))
        assert mask.tolist() == expected


@fuzz(1 / 6)
@given(any_numbers(), st.sampled_from([None, "int8", "uint8", "int64"]), counts)
def test_padding_mask(lengths, dtype, n_k):
    if dtype is not None:
        lengths = (np.arange(np.size(lengths)) % 3).astype(dtype).reshape(np.shape(lengths))
    array = np.asarray(lengths)
    fits = is_count(n_k) and (
        array.size == 0 or (array.dtype.kind in "iu" and ((array >= 0) & (array <= n_k)).all())
    )
    mask = run(padding_mask, fits, lengths, n_k=n_k)
    if mask is not None:
        assert mask.dtype == bool
        assert mask.shape == (*array.shape, 1, n_k)
        for index in np.ndindex(array.shape):
            assert mask[index].tolist() == [[j < array[index] for j in range(n_k)]]
