import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from attention_lib import apply_mask, causal_mask, padding_mask, scale_scores

INF = np.inf


def test_each_token_sees_itself_and_those_before_it():
    assert_array_equal(causal_mask(3), [[True, False, False], [True, True, False], [True] * 3])


@pytest.mark.parametrize(
    ("n_q", "n_k", "mask"),
    [
        (1, 1, [[1]]),
        (1, 3, [[1, 0, 0]]),
        (3, 1, [[1], [1], [1]]),
        (2, 4, [[1, 0, 0, 0], [1, 1, 0, 0]]),
        (4, 2, [[1, 0], [1, 1], [1, 1], [1, 1]]),
    ],
)
def test_the_diagonal_starts_at_the_top_left_whatever_the_sizes(n_q, n_k, mask):
    assert_array_equal(causal_mask(n_q, n_k), mask)


@given(st.integers(0, 300), st.integers(0, 300))
def test_row_i_ends_at_key_i(n_q, n_k):
    mask = causal_mask(n_q, n_k)
    assert mask.shape == (n_q, n_k)
    assert mask.dtype == bool
    assert_array_equal(mask, np.arange(n_k) <= np.arange(n_q)[:, np.newaxis])


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [((3,), (3, 3)), ((3, None), (3, 3)), ((0,), (0, 0)), ((3, 0), (3, 0)), ((0, 3), (0, 3))],
)
def test_number_of_keys_is_that_of_queries_only_if_left_out(sizes, shape):
    mask = causal_mask(*sizes)
    assert mask.shape == shape
    assert mask.dtype == bool


@pytest.mark.parametrize("three", [np.int64(3), np.uint8(3), np.array(3)])
def test_whole_numbers_of_any_kind_count_positions(three):
    assert_array_equal(causal_mask(three, three), causal_mask(3))
    assert_array_equal(padding_mask([1], three), [[[True, False, False]]])


def test_a_mask_belongs_to_whoever_asked_for_it():
    causal_mask(2)[:] = False
    padding_mask([2], 2)[:] = False
    assert_array_equal(causal_mask(2), [[True, False], [True, True]])
    assert_array_equal(padding_mask([2], 2), [[[True, True]]])


@pytest.mark.parametrize(
    ("lengths", "n_k", "mask"),
    [
        ([3, 1], 3, [[[1, 1, 1]], [[1, 0, 0]]]),
        ([0, 2], 2, [[[0, 0]], [[1, 1]]]),
        ([[2, 0], [1, 1]], 2, [[[[1, 1]], [[0, 0]]], [[[1, 0]], [[1, 0]]]]),
        (2, 3, [[1, 1, 0]]),
        ((1,), 1, [[[1]]]),
    ],
    ids=["one padded", "nothing real", "two batch axes", "one sequence", "tuple"],
)
def test_only_the_first_keys_of_each_sequence_are_real(lengths, n_k, mask):
    made = padding_mask(lengths, n_k)
    assert made.dtype == bool
    assert_array_equal(made, mask)
    assert made.shape == np.shape(mask)


@pytest.mark.parametrize(
    ("lengths", "n_k", "shape"),
    [([], 3, (0, 1, 3)), ([], 0, (0, 1, 0)), ([0, 0], 0, (2, 1, 0)), (0, 0, (1, 0))],
)
def test_no_sequence_or_no_key_makes_an_empty_mask(lengths, n_k, shape):
    mask = padding_mask(lengths, n_k)
    assert mask.shape == shape
    assert mask.dtype == bool


@pytest.mark.parametrize("dtype", ["int8", "uint8", ">i2", "int64", "uint64"])
def test_lengths_may_be_small_integers_in_a_long_batch(dtype):
    mask = padding_mask(np.array([127, 0], dtype), n_k=300)
    assert_array_equal(mask.sum(axis=-1), [[127], [0]])


def test_lengths_are_left_alone_whatever_their_layout(laid_out):
    lengths = laid_out(np.array([[1, 0], [2, 2]]))
    mask = padding_mask(lengths, 2)
    assert_array_equal(mask[:, :, 0].sum(axis=-1), [[1, 0], [2, 2]])
    assert_array_equal(lengths, [[1, 0], [2, 2]])
    assert not np.shares_memory(mask, lengths)


def test_padding_is_hidden_from_every_query_of_its_own_sequence():
    hidden = np.isneginf(apply_mask(np.zeros((2, 2, 3)), padding_mask([3, 1], 3)))
    assert_array_equal(hidden, [[[0, 0, 0], [0, 0, 0]], [[0, 1, 1], [0, 1, 1]]])


def test_with_heads_padding_is_hidden_in_each_of_them():
    """Two sequences, two heads: without the axis for heads, the mask would follow the heads."""
    S_scaled = np.zeros((2, 2, 2, 2))
    right = apply_mask(S_scaled, padding_mask([2, 1], 2)[:, np.newaxis])
    assert_array_equal(np.isneginf(right[0]), np.zeros((2, 2, 2)))
    assert_array_equal(np.isneginf(right[1]), [[[0, 1], [0, 1]], [[0, 1], [0, 1]]])
    wrong = apply_mask(S_scaled, padding_mask([2, 1], 2))
    assert_array_equal(wrong[0], wrong[1])


def test_padding_and_causal_masks_join_with_and():
    mask = padding_mask([2, 3], 3) & causal_mask(3)
    assert_array_equal(mask[0], [[1, 0, 0], [1, 1, 0], [1, 1, 0]])
    assert_array_equal(mask[1], causal_mask(3))


def test_two_axes_are_queries_and_keys_also_where_the_batch_is_as_long():
    """What padding_mask warns of: (batch, n_k) passes where batch = n_q, and means query b."""
    S_scaled = np.zeros((2, 2, 3))
    made = apply_mask(S_scaled, [[True, True, True], [True, False, False]])
    assert_array_equal(made, [[[0, 0, 0], [0, -INF, -INF]]] * 2)


@pytest.mark.parametrize(
    ("mask", "S_scaled"),
    [
        ([[True, False], [True, True]], [[0.5, -INF], [-1.0, 4.0]]),
        ([[False, False], [True, True]], [[-INF, -INF], [-1.0, 4.0]]),
        ([[1.0, -INF], [0.0, -3.0]], [[1.5, -INF], [-1.0, 1.0]]),
        ([[-1e9, 0.0], [0.0, 0.0]], [[-1e9 + 0.5, 2.0], [-1.0, 4.0]]),
        ([True, False], [[0.5, -INF], [-1.0, -INF]]),
        ([1.0, -INF], [[1.5, -INF], [0.0, -INF]]),
        ([[False], [True]], [[-INF, -INF], [-1.0, 4.0]]),
        ([[2.0], [0.0]], [[2.5, 4.0], [-1.0, 4.0]]),
        ([[False]], [[-INF, -INF], [-INF, -INF]]),
        ([True], [[0.5, 2.0], [-1.0, 4.0]]),
    ],
)
def test_true_keeps_a_score_false_hides_it_and_a_float_is_added(mask, S_scaled):
    assert_array_equal(apply_mask([[0.5, 2.0], [-1.0, 4.0]], mask), S_scaled)


@pytest.mark.parametrize("score", [0.0, 1e308, -1e308, INF, -INF, np.nan])
@pytest.mark.parametrize("hide", [False, -INF], ids=["boolean", "float"])
def test_a_hidden_key_is_minus_inf_whatever_its_score_was(score, hide):
    show = True if hide is False else 0.0
    assert_array_equal(apply_mask([[score, 1.0]], [[hide, show]]), [[-INF, 1.0]])


@pytest.mark.parametrize("show", [True, 2.0], ids=["boolean", "float"])
def test_what_is_not_finite_stays_where_it_may_be_seen(show):
    assert_array_equal(apply_mask([[np.nan, INF, -INF]], [[show] * 3]), [[np.nan, INF, -INF]])


@pytest.mark.parametrize(("score", "added", "total"), [(1e308, 1e308, INF), (-1e308, -1e308, -INF)])
def test_a_sum_beyond_the_largest_float_makes_no_warning(score, added, total):
    assert_array_equal(apply_mask([[score]], [[added]]), [[total]])


@given(
    arrays(float, (3, 4), elements=st.floats(allow_nan=True)),
    arrays(bool, (3, 4)),
)
def test_boolean_mask_and_float_mask_of_zeros_hide_the_same_scores(S_scaled, mask):
    made = apply_mask(S_scaled, mask)
    for i, j in np.ndindex(3, 4):
        assert_array_equal(made[i, j], S_scaled[i, j] if mask[i, j] else -INF)
    assert_array_equal(apply_mask(S_scaled, np.where(mask, 0.0, -INF)), made)


_SHAPES = pytest.mark.parametrize(
    ("S_shape", "mask_shape", "shape"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3,), (2, 3)),
        ((2, 3), (1,), (2, 3)),
        ((2, 3), (1, 3), (2, 3)),
        ((2, 3), (2, 1), (2, 3)),
        ((2, 3), (1, 1), (2, 3)),
        ((4, 2, 3), (2, 3), (4, 2, 3)),
        ((4, 2, 3), (4, 1, 3), (4, 2, 3)),
        ((4, 2, 3), (4, 2, 1), (4, 2, 3)),
        ((4, 2, 3), (3,), (4, 2, 3)),
        ((2, 3), (4, 2, 3), (4, 2, 3)),
        ((1, 2, 3), (4, 1, 3), (4, 2, 3)),
        ((5, 4, 2, 3), (5, 1, 1, 3), (5, 4, 2, 3)),
        ((5, 4, 2, 3), (4, 2, 3), (5, 4, 2, 3)),
        ((5, 1, 2, 3), (4, 2, 3), (5, 4, 2, 3)),
        ((4, 2, 3), (5, 1, 2, 3), (5, 4, 2, 3)),
        ((0, 3), (0, 3), (0, 3)),
        ((0, 3), (1, 3), (0, 3)),
        ((0, 3), (3,), (0, 3)),
        ((2, 0), (2, 0), (2, 0)),
        ((2, 0), (0,), (2, 0)),
        ((2, 0), (1, 1), (2, 0)),
        ((0, 2, 3), (2, 3), (0, 2, 3)),
        ((1, 2, 3), (0, 2, 3), (0, 2, 3)),
    ],
)


@_SHAPES
@pytest.mark.parametrize("kind", [bool, float])
def test_mask_axes_of_length_1_or_left_out_hold_for_all(counting, S_shape, mask_shape, shape, kind):
    S_scaled, mask = counting(*S_shape), counting(*mask_shape) > 0
    given_mask = mask if kind is bool else np.where(mask, 0.0, -INF)
    made = apply_mask(S_scaled, given_mask)
    assert made.shape == shape
    every_S, every_mask = np.broadcast_to(S_scaled, shape), np.broadcast_to(mask, shape)
    for index in np.ndindex(shape):
        assert made[index] == (every_S[index] if every_mask[index] else -INF)


def test_scores_masked_with_booleans_have_at_least_the_precision_of_float32(dtypes):
    given_dtype, result_dtype = dtypes
    made = apply_mask(np.ones((1, 2), given_dtype), [[True, False]])
    assert made.dtype == result_dtype
    assert_array_equal(made, [[1, -INF]])


@pytest.mark.parametrize(
    ("scores", "mask", "result"),
    [
        ("float16", "float16", np.float32),
        ("float16", "float32", np.float32),
        ("float32", "float16", np.float32),
        ("float32", "float32", np.float32),
        (">f4", ">f4", np.float32),
        ("float32", "float64", np.float64),
        ("float64", "float16", np.float64),
        ("int8", "float32", np.float64),
        ("float32", "longdouble", np.longdouble),
    ],
)
def test_the_wider_of_scores_and_float_mask_wins(scores, mask, result):
    made = apply_mask(np.ones((1, 2), scores), np.array([[2.0, -INF]], mask))
    assert made.dtype == result
    assert_array_equal(made, [[3, -INF]])


def test_float16_sums_keep_their_last_digit():
    """2049 lies between two float16 numbers."""
    assert_array_equal(apply_mask(np.float16([[2048]]), np.float16([[1]])), [[2049]])


@pytest.mark.parametrize(
    "mask",
    [
        np.array([[True, False, True], [False, True, True]]),
        np.array([[0.0, -INF, 1.0], [-INF, 2.0, 0.0]]),
        np.ones((2, 3), bool),
        np.zeros((2, 3)),
    ],
    ids=["boolean", "float", "all may", "nothing added"],
)
def test_scores_and_mask_are_left_alone_whatever_their_layout(counting, laid_out, mask):
    S_scaled, laid_mask = laid_out(counting(2, 3)), laid_out(mask)
    made = apply_mask(S_scaled, laid_mask)
    assert_array_equal(made, apply_mask(counting(2, 3), mask))
    assert_array_equal(S_scaled, counting(2, 3))
    assert_array_equal(laid_mask, mask)
    assert not np.shares_memory(made, S_scaled)
    assert not np.shares_memory(made, laid_mask)


_COUNTS = pytest.mark.parametrize(
    ("name", "call"),
    [
        ("causal_mask: n_q", lambda value: causal_mask(value)),
        ("causal_mask: n_k", lambda value: causal_mask(2, value)),
        ("padding_mask: n_k", lambda value: padding_mask([], value)),
    ],
    ids=["n_q", "n_k", "n_k of padding"],
)


@_COUNTS
@pytest.mark.parametrize(
    "value", [2.0, np.float64(2), True, np.True_, np.array(True), "2", [2], np.ma.masked, 2j]
)
def test_a_count_that_is_no_whole_number_is_refused(name, call, value):
    rule = rf"^{name} must be a whole number, .*: len\(Q\), len\(K\)\."
    with pytest.raises(TypeError, match=rule) as caught:
        call(value)
    assert f"Got {value!r} ({type(value).__name__})." in str(caught.value)


@_COUNTS
@pytest.mark.parametrize("shape", [(1,), (2, 3)])
def test_an_array_in_place_of_a_count_is_named_by_its_shape(name, call, shape):
    with pytest.raises(TypeError, match=f"^{name} must be a whole number") as caught:
        call(np.ones(shape, int))
    assert f"Got an array with shape {shape}." in str(caught.value)


@pytest.mark.parametrize("call", [lambda: causal_mask(None), lambda: padding_mask([1], None)])
def test_only_the_number_of_keys_of_a_causal_mask_may_be_left_out(call):
    with pytest.raises(TypeError, match=r"must be a whole number, .* Got None \(NoneType\)"):
        call()


@_COUNTS
@pytest.mark.parametrize("value", [-1, np.int64(-1)])
def test_a_count_below_0_is_refused(name, call, value):
    with pytest.raises(ValueError, match=rf"^{name} must be 0 or more\. Got -1\."):
        call(value)


@pytest.mark.parametrize(
    ("lengths", "got", "shape"),
    [
        ([4, 5], 5, r"\(2,\)"),
        ([1, -1, 7], -1, r"\(3,\)"),
        ([[0, 4], [4, 255]], 255, r"\(2, 2\)"),
        (5, 5, r"\(\)"),
        (np.uint64([2**63]), 2**63, r"\(1,\)"),
    ],
)
def test_a_length_that_the_keys_do_not_allow_is_refused(lengths, got, shape):
    rule = f"^padding_mask: a length must be from 0 to n_k = 4\\. Got {got}, .* shape {shape}"
    with pytest.raises(ValueError, match=rule):
        padding_mask(lengths, 4)


@pytest.mark.parametrize(
    ("lengths", "got"),
    [
        ([2.0, 1.0], r"float64 and shape \(2,\)\. Look at where they were counted"),
        (np.float32(2), r"float32 and shape \(\)"),
        ([[True, False]], r"bool and shape \(1, 2\).* a mask already: mask\[:, np\.newaxis, :\]"),
    ],
)
def test_lengths_that_are_no_whole_numbers_are_refused(lengths, got):
    with pytest.raises(
        TypeError, match=f"^padding_mask: lengths must be whole numbers.* Got dtype {got}"
    ):
        padding_mask(lengths, 4)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("padding_mask: lengths", lambda value: padding_mask(value, 4)),
        ("apply_mask: S_scaled", lambda value: apply_mask(value, np.ones((2, 2), bool))),
        ("apply_mask: mask", lambda value: apply_mask(np.eye(2), value)),
    ],
    ids=["lengths", "S_scaled", "mask"],
)
def test_what_is_no_array_of_numbers_is_refused(name, call, refused):
    with pytest.raises(refused.error, match=f"^{name} must .*{refused.rule}"):
        call(refused.value)


def test_scores_with_less_than_two_axes_are_refused():
    rule = r"^apply_mask: S_scaled must have at least two axes, \(n_q, n_k\)\. Got shape \(3,\)"
    with pytest.raises(ValueError, match=rule):
        apply_mask(np.ones(3), np.ones(3, bool))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_a_mask_of_whole_numbers_is_refused_for_it_could_mean_either(dtype):
    rule = (
        rf"^apply_mask: mask must be boolean .* or float .* Got dtype {dtype} and shape \(1, 2\)\. "
        r"If 1 may attend: mask\.astype\(bool\)\. If 1 is hidden: mask == 0\."
    )
    with pytest.raises(TypeError, match=rule):
        apply_mask([[0.0, 0.0]], np.array([[1, 0]], dtype))


@pytest.mark.parametrize("mask", [True, np.False_, 0.0, -math.inf])
def test_a_single_value_is_no_mask(mask):
    rule = r"^apply_mask: .* = \(2, 3\).* Got the single value .* causal_mask\(n_q, n_k\)"
    with pytest.raises(ValueError, match=rule):
        apply_mask(np.ones((2, 3)), mask)


@pytest.mark.parametrize("kind", [bool, float])
@pytest.mark.parametrize(
    ("S_shape", "mask_shape", "advice"),
    [
        ((2, 3), (3, 2), "turned round"),
        ((4, 2, 3), (3, 2), "turned round"),
        ((4, 2, 3), (4, 3, 2), "turned round"),
        ((4, 2, 3), (4, 3), r"If they are \(batch, n_k\): mask\[:, np\.newaxis, :\]"),
        ((2, 3), (4, 3), r"If they are \(batch, n_k\): mask\[:, np\.newaxis, :\]"),
        ((2, 3), (2,), r"Two axes are \(n_q, n_k\)"),
        ((2, 3), (2, 2), r"Two axes are \(n_q, n_k\)"),
        ((2, 3), (2, 4), r"Two axes are \(n_q, n_k\)"),
        ((2, 3), (2, 0), r"Two axes are \(n_q, n_k\)"),
        ((2, 3), (0,), r"Two axes are \(n_q, n_k\)"),
        ((2, 0), (2, 3), r"Two axes are \(n_q, n_k\)"),
        ((0, 3), (2, 3), r"Two axes are \(n_q, n_k\)"),
        ((1, 3), (2, 3), r"Two axes are \(n_q, n_k\)"),
        ((2, 1), (2, 3), r"Two axes are \(n_q, n_k\)"),
        ((4, 2, 3), (5, 2, 3), r"batch axes do not fit.* heads .* mask\[:, np\.newaxis\]"),
        ((4, 5, 2, 3), (4, 2, 3), r"batch axes do not fit.* heads .* mask\[:, np\.newaxis\]"),
        ((4, 5, 2, 3), (4, 1, 3), r"batch axes do not fit.* heads .* mask\[:, np\.newaxis\]"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_with_advice(S_shape, mask_shape, advice, kind):
    S, got = (str(shape).replace("(", r"\(").replace(")", r"\)") for shape in (S_shape, mask_shape))
    rule = rf"^apply_mask: mask must fit S_scaled, \(\.\.\., n_q, n_k\) = {S}; .* Got shape {got}"
    with pytest.raises(ValueError, match=f"{rule}.*{advice}") as caught:
        apply_mask(np.zeros(S_shape), np.zeros(mask_shape, kind))
    assert ("turned round" in str(caught.value)) == (advice == "turned round")
    assert "broadcast" not in str(caught.value)


@pytest.mark.parametrize(
    ("mask", "got"),
    [
        ([[np.nan, 0.0], [-INF, np.nan]], r"\(2, 2\) with 2 entries NaN and 0 entries \+inf"),
        ([[INF, 0.0], [-INF, 0.0]], r"\(2, 2\) with 0 entries NaN and 1 entries \+inf"),
        ([np.nan, INF], r"\(2,\) with 1 entries NaN and 1 entries \+inf"),
        (np.float16([[INF, INF]]), r"\(1, 2\) with 0 entries NaN and 2 entries \+inf"),
    ],
)
def test_a_float_mask_with_nan_or_plus_inf_is_refused(mask, got):
    rule = (
        "^apply_mask: a float mask is added to the scores, and must be finite or -inf. "
        rf"Got shape {got}\..* use np\.where"
    )
    with pytest.raises(ValueError, match=rule):
        apply_mask(np.zeros((2, 2)), mask)


@pytest.mark.parametrize("huge", [2**62, 10**30, 10**400])
def test_sizes_that_no_array_can_have_are_refused_in_words(huge):
    with pytest.raises(
        ValueError, match=r"^causal_mask: n_q must be the length of an array\. Got about 2\*\*"
    ):
        causal_mask(huge)
    with pytest.raises(ValueError, match=r"^padding_mask: n_k must be the length of an array"):
        padding_mask([1], huge)
    with pytest.raises(ValueError, match=r"^scale_scores: d_k must be the width of an array"):
        scale_scores([[1.0]], d_k=huge)
