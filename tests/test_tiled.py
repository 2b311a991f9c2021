"""Attention in tiles: the output of the plain function, whatever the tiles, and partials that merge."""

import functools
import itertools
import math
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from attention_lib import (
    PartialAttention,
    attention_steps,
    blocks,
    causal_mask,
    merge,
    partial_attention,
    scaled_dot_product_attention,
    tiled,
    tiled_attention,
)

INF = math.inf


def normal(*batch, n_q=7, n_k=9, d_k=4, d_v=3, dtype=float, size=1, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (n_q, d_k), (n_k, d_k), (n_k, d_v)
    return [(rng.normal(size=(*batch, *shape)) * size).astype(dtype) for shape in shapes]


def plain(*arrays, **how):
    return scaled_dot_product_attention(*arrays, **how)[0]


@pytest.fixture
def two_threads(monkeypatch):
    """Let blocks be worked on by two threads, whatever this machine and its settings are."""
    monkeypatch.setattr(tiled, "work_on", functools.partial(_on_two, blocks.work_on))


def _on_two(work_on, places, work, threads, bar):
    work_on(places, work, 2, bar)


@pytest.mark.parametrize("size", [1, 20], ids=["not shifted", "shifted"])
@pytest.mark.parametrize("tile", [1, 2, 4, (3, 5), (7, 9), (100, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("two_threads")
def test_tiles_make_the_output_of_the_plain_function(tile, dtype, size):
    Q, K, V = normal(2, 3, dtype=dtype, size=size)
    output = tiled_attention(Q, K, V, tile=tile)
    assert output.dtype == dtype
    assert_allclose(output, plain(Q, K, V), rtol=0, atol=2e-4 if dtype == np.float32 else 1e-12)


def test_both_ways_of_adding_up_are_taken(monkeypatch):
    shifted = []
    attend = tiled._attend
    monkeypatch.setattr(
        tiled, "_attend", lambda *given: (shifted.append(given[3]), attend(*given))[1]
    )
    tiled_attention(*normal(), tile=100, threads=1)
    assert shifted == []  # one tile: at once
    tiled_attention(*normal(), tile=(7, 4))
    tiled_attention(*normal(size=20), tile=(7, 4))
    tiled_attention(*normal(), tile=(7, 4), mask=np.zeros((7, 9)))
    partial_attention(*normal())
    assert shifted == [False, True, True, True]


@pytest.mark.parametrize("score", [1e4, -1e4, 300, -300, 30, -30])
def test_scores_of_any_size_leave_the_weights_alone(score):
    # All scores are equal, so the output is the mean of the values.
    Q, K, V = np.full((3, 1), score), np.ones((5, 1)), np.arange(5.0)[:, np.newaxis]
    for dtype in (np.float32, np.float64):
        output = tiled_attention(*(array.astype(dtype) for array in (Q, K, V)), tile=2)
        assert_allclose(output, np.full((3, 1), 2), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_near_the_end_of_the_range_do_not_overflow_when_added_up(dtype):
    Q, K, V = normal(n_k=40, dtype=dtype)
    V = np.abs(V / np.abs(V).max() * np.finfo(dtype).max / 4).astype(dtype)
    Q = Q / 100  # about the same weight for each: all of them count
    with np.errstate(over="ignore"):
        assert np.isinf(V.sum())
    assert_allclose(tiled_attention(Q, K, V, tile=3), plain(Q, K, V), rtol=2e-3)


@pytest.mark.parametrize("value", [np.nan, INF, -INF])
def test_a_value_whose_weight_is_0_beside_later_keys_gives_nothing(value):
    Q, K = np.ones((1, 1)), np.array([[0.0], [1.0], [2000.0]])
    V = np.array([[value], [1.0], [3.0]])
    for visible, expected in ((K, 3.0), (K * 0, value)):
        assert_array_equal(tiled_attention(Q, visible, V, tile=1), [[expected]])
        assert_array_equal(plain(Q, visible, V), [[expected]])
    parts = [partial_attention(Q, K[keys], V[keys]) for keys in (slice(0, 1), slice(1, 3))]
    assert_array_equal(parts[0].output, [[value]])
    assert_array_equal(merge(*parts).output, [[3.0]])


@pytest.mark.parametrize("offset", [-20, -3, -1, 0, 1, 4, 8, 20])
@pytest.mark.parametrize("tile", [1, 2, (3, 4), (2, 100)])
@pytest.mark.parametrize("size", [1, 20])
def test_offset_moves_the_causal_mask_in_every_function_alike(offset, tile, size):
    Q, K, V = normal(2, size=size)
    expected = plain(Q, K, V, mask=causal_mask(7, 9, offset=offset))
    how = {"causal": True, "offset": offset}
    assert_allclose(tiled_attention(Q, K, V, tile=tile, **how), expected, atol=1e-12)
    assert_allclose(partial_attention(Q, K, V, tile=tile, **how).output, expected, atol=1e-12)
    assert_allclose(plain(Q, K, V, **how), expected, atol=1e-12)
    assert_allclose(attention_steps(Q, K, V, **how).output, expected, atol=1e-12)


def test_one_token_at_a_time_with_a_cache_makes_the_rows_of_the_whole():
    Q, K, V = normal(n_q=6, n_k=6)
    whole = plain(Q, K, V, causal=True)
    for t in range(6):
        new = slice(t, t + 1)
        row = tiled_attention(
            Q[new], K[: t + 1], V[: t + 1], causal=True, offset=t, tile=2, threads=1
        )
        assert_allclose(row, whole[new], atol=1e-12)


def test_tiles_in_which_no_query_sees_a_key_are_left_out(monkeypatch):
    products = []
    matmul = np.matmul
    monkeypatch.setattr(
        np, "matmul", lambda a, b, out: (products.append(out.shape), matmul(a, b, out=out))[1]
    )

    def scores(**how):
        products.clear()
        tiled_attention(*normal(n_q=8, n_k=8), tile=2, threads=1, **how)
        return products.count((2, 2))

    assert scores() == 16
    assert scores(causal=True) == 10  # 1 + 2 + 3 + 4
    assert scores(mask=np.arange(8) < 4) == 8


def test_threads_and_a_bar_make_no_difference(capsys):
    pytest.importorskip("tqdm")
    Q, K, V = normal(2)
    expected = tiled_attention(Q, K, V, tile=2, threads=1)
    assert_array_equal(tiled_attention(Q, K, V, tile=2, threads=3, progress=True), expected)
    assert "8/8" in capsys.readouterr().err  # 4 blocks of queries in each of 2 sequences


def test_without_tqdm_a_bar_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"tiled_attention: progress=True .*pip install tqdm"):
        tiled_attention(*normal(), progress=True)


def test_without_threadpoolctl_blocks_are_taken_one_after_the_other():
    code = """
import sys, threading
sys.modules["threadpoolctl"] = None
import numpy as np
from attention_lib import blocks, tiled_attention
seen = set()
blocks.work_on([1, 2, 3], lambda place: seen.add(threading.get_ident()))
assert seen == {threading.get_ident()}
X = np.eye(4)
assert np.allclose(tiled_attention(X, X, X, tile=2), tiled_attention(X, X, X, tile=2, threads=2))
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.fixture
def cores():
    """Let matrix products take two cores, and return what says how many they may take."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
        if not found:
            pytest.skip("threadpoolctl does not know the library that NumPy's products come from")
        yield lambda: {library.num_threads for library in found}


def test_products_keep_to_one_core_while_blocks_are_worked_on_and_are_free_again(cores):
    during = []
    blocks.work_on([1, 2], lambda _: during.append(cores()))
    assert during == [{1}, {1}]
    assert cores() == {2}


def test_a_call_within_a_call_leaves_the_number_of_cores_to_the_first(cores):
    during = []

    def call_again(_):
        blocks.work_on([1, 2], lambda _: None, threads=2)
        during.append(cores())

    blocks.work_on([1, 2], call_again)
    assert during == [{1}, {1}]
    assert cores() == {2}


def test_an_error_in_a_block_arrives_and_leaves_the_settings_as_they_were():
    def fail(place):
        raise OSError(place)

    for threads in (1, 2):
        with pytest.raises(OSError, match="7"):
            blocks.work_on([7, 7], fail, threads=threads)
    assert blocks._KEY == ["the only one"]


def test_blocks_are_worked_on_at_the_same_time():
    both = threading.Barrier(2, timeout=20)
    blocks.work_on([1, 2], lambda _: both.wait(), threads=2)


def test_memory_does_not_grow_with_the_number_of_scores():
    Q, K, V = normal(n_q=2000, n_k=2000, dtype=np.float32)
    tracemalloc.start()
    tiled_attention(Q, K, V, tile=100, threads=2)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2000 * 2000 * 4 / 20


def test_plain_functions_make_no_array_that_they_do_not_return():
    Q, K, V = normal(n_q=400, n_k=400, dtype=np.float32)
    scores = 400 * 400 * 4
    for function, arrays in ((scaled_dot_product_attention, 1), (attention_steps, 3)):
        for how in ({}, {"causal": True}):
            tracemalloc.start()
            function(Q, K, V, **how)
            _now, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < (arrays + 0.2) * scores


@pytest.mark.parametrize("how", [{}, {"causal": True}, {"mask": np.tri(900, 800, -3, dtype=bool)}])
def test_the_plain_function_makes_the_same_in_blocks_of_queries(how):
    Q, K, V = normal(2, n_q=900, n_k=800)
    steps = attention_steps(Q, K, V, **how)
    output, A = scaled_dot_product_attention(Q, K, V, **how)
    assert_allclose(A, steps.A, rtol=1e-12)
    assert_allclose(output, steps.output, atol=1e-12)


# Partials


sizes = st.integers(0, 4)


@st.composite
def cut_into_blocks(draw):
    """Draw queries, and keys with their values cut into three blocks, some of them empty."""
    seed, size = draw(st.integers(0, 1000)), draw(st.sampled_from([0, 1, 30]))
    Q, K, V = normal(*draw(st.sampled_from([(), (2,)])), n_k=6, size=size, seed=seed)
    a, b = sorted(draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    mask = np.random.default_rng(seed).random((7, 6)) < draw(st.sampled_from([0.3, 0.8, 1]))
    return Q, K, V, mask, [slice(0, a), slice(a, b), slice(b, 6)]


def partials(Q, K, V, mask, cuts):
    return [
        partial_attention(Q, K[..., keys, :], V[..., keys, :], mask=mask[:, keys]) for keys in cuts
    ]


def same(first, second):
    for one, other in zip(first, second, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@given(cut_into_blocks())
def test_partials_merge_in_any_order_to_what_one_pass_makes(drawn):
    Q, K, V, mask, cuts = drawn
    parts = partials(Q, K, V, mask, cuts)
    whole = partial_attention(Q, K, V, mask=mask)
    for a, b, c in itertools.permutations(parts):
        same(merge(merge(a, b), c), whole)
        same(merge(a, merge(b, c)), whole)
    assert_allclose(whole.output, plain(Q, K, V, mask=mask), atol=1e-12)


@given(cut_into_blocks())
def test_a_partial_of_no_keys_changes_nothing(drawn):
    Q, K, V, mask, _ = drawn
    none = partial_attention(Q, K[..., :0, :], V[..., :0, :])
    part = partial_attention(Q, K, V, mask=mask)
    assert np.isneginf(none.maximum).all()
    assert not none.total.any()
    assert not none.output.any()
    same(merge(none, part), part)
    same(merge(part, none), part)
    same(merge(none, none), none)


def test_a_partial_says_the_largest_score_the_sum_and_the_output():
    Q, K, V = [[1.0]], [[np.log(3)], [0.0], [5.0]], [[4.0], [0.0], [9.0]]
    part = partial_attention(Q, K, V, mask=[[True, True, False]])
    assert_allclose(part.maximum, [np.log(3)])
    assert_allclose(part.total, [4 / 3])
    assert_allclose(part.output, [[3.0]])


def test_a_block_of_later_keys_has_an_offset_that_is_smaller_by_its_start():
    Q, K, V = normal(n_q=6, n_k=6)
    parts = [
        partial_attention(Q, K[cut], V[cut], causal=True, offset=-cut.start)
        for cut in (slice(0, 2), slice(2, 3), slice(3, 6))
    ]
    merged = functools.reduce(merge, parts)
    assert_allclose(merged.output, plain(Q, K, V, causal=True), atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, INF])
def test_nan_of_one_partial_is_nan_of_the_result_in_its_row_alone(bad):
    Q, K, V = normal(n_q=2, n_k=4)
    K[1, 0] = bad
    mask = np.array([[True] * 4, [True, False, True, True]])
    parts = partials(Q, K, V, mask, [slice(0, 2), slice(2, 4)])
    merged = merge(*parts)
    expected = plain(Q, K, V, mask=mask)
    assert_allclose(merged.output, expected, atol=1e-12)
    assert_allclose(merge(*parts[::-1]).output, expected, atol=1e-12)


def test_merge_makes_new_arrays_and_leaves_its_arguments_alone():
    Q, K, V = normal()
    part, none = partial_attention(Q, K, V), partial_attention(Q, K[:0], V[:0])
    before = [array.copy() for array in part]
    for merged in (merge(part, none), merge(none, part), merge(part, part)):
        for array, other in itertools.product(merged, part):
            assert not np.shares_memory(array, other)
    for array, old in zip(part, before, strict=True):
        assert_array_equal(array, old)


def test_merge_refuses_what_is_no_partial_or_of_other_queries():
    part = partial_attention(*normal())
    with pytest.raises(
        TypeError, match=r"merge: it joins what partial_attention returned.*ndarray"
    ):
        merge(part, part.output)
    for other in (normal(n_q=6), normal(d_v=5)):
        with pytest.raises(ValueError, match=r"merge: .*\(7,\).*Are they of the same queries"):
            merge(part, partial_attention(*other))
    with pytest.raises(ValueError, match="merge: maximum and total must have shape"):
        merge(part, PartialAttention(part.maximum, part.total[:2], part.output))


# What is refused


@pytest.mark.parametrize("function", [tiled_attention, partial_attention])
@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"tile": 0}, ValueError, "tile must be 1 or more. Got 0"),
        ({"tile": (2, 2.5)}, TypeError, "tile must be a whole number"),
        ({"tile": (1, 2, 3)}, ValueError, "tile must be one number, or two"),
        ({"threads": 0}, ValueError, "threads must be 1 or more"),
        ({"threads": "two"}, TypeError, "threads must be a whole number"),
        ({"progress": 1}, TypeError, "progress must be True or False"),
        ({"causal": 1}, TypeError, "causal must be True or False"),
        ({"offset": 2}, ValueError, "offset says where the causal mask begins"),
        ({"offset": 1.0, "causal": True}, TypeError, "offset must be a whole number"),
        ({"offset": 2**60, "causal": True}, ValueError, r"offset .* about 2\*\*60"),
        ({"mask": np.ones((7, 9), int)}, TypeError, "mask must be boolean"),
        ({"scale": np.nan}, ValueError, "scale must be finite"),
    ],
)
def test_what_cannot_be_meant_is_refused(function, how, error, message):
    with pytest.raises(error, match=f"^{function.__name__}: {message}"):
        function(*normal(), **how)
