"""The ONNX standard's own test cases for its operators Attention and Softmax.

What plain attention can express of an operator is the signature of the function that stands in for
it below, less what LIMITS names. A case that uses anything else is not run, but counted and named.
"""

import inspect
import re
from collections import Counter
from functools import reduce
from importlib import import_module
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from both_ways import scaled_dot_product_attention
from numpy.testing import assert_allclose
from onnx.backend.test.case import node as onnx_cases

from attention_lib import (
    attention_steps,
    padding_mask,
    softmax,
)


def split_heads(X, heads):
    return X.reshape(*X.shape[:2], heads, -1).swapaxes(1, 2)


def merge_heads(X):
    return X.swapaxes(1, 2).reshape(X.shape[0], X.shape[2], -1)


def both(mask, allowed):
    """Hide in a mask, boolean or float, what a second, boolean one does not allow."""
    return mask & allowed if mask.dtype == bool else np.where(allowed, mask, -np.inf)


def onnx_attention(
    Q,
    K,
    V,
    attn_mask=None,
    past_key=None,
    past_value=None,
    nonpad_kv_seqlen=None,
    *,
    scale=None,
    is_causal=0,
    left_window_size=-1,
    right_window_size=-1,
    q_num_heads=None,
    kv_num_heads=None,
    qk_matmul_output_mode=0,
):
    """Return every output of the operator, made by the library from the operator's inputs."""
    heads_together = Q.ndim == 3
    if heads_together:
        Q = split_heads(Q, q_num_heads)
        K, V = split_heads(K, kv_num_heads), split_heads(V, kv_num_heads)
    if past_key is not None:
        K, V = np.concatenate([past_key, K], axis=2), np.concatenate([past_value, V], axis=2)
    present = {"present_key": K, "present_value": V}
    K, V = (np.repeat(X, Q.shape[1] // X.shape[1], axis=1) for X in (K, V))
    n_q, n_k = Q.shape[2], K.shape[2]

    # With a cache, the first query stands behind the keys of earlier calls. Where these are of other
    # lengths in each sequence of the batch, no one offset is, and the mask says who sees whom.
    offset = 0 if past_key is None else past_key.shape[2]
    padded = past_key is None and nonpad_kv_seqlen is not None
    first = nonpad_kv_seqlen.reshape(-1, 1, 1, 1) - n_q if padded else offset
    place, key = first + np.arange(n_q)[:, np.newaxis], np.arange(n_k)

    masks = []
    if attn_mask is not None:
        missing = [(0, 0)] * (attn_mask.ndim - 1) + [(0, n_k - attn_mask.shape[-1])]
        hidden = False if attn_mask.dtype == bool else -np.inf
        masks.append(np.pad(attn_mask, missing, constant_values=hidden))
    if nonpad_kv_seqlen is not None:
        masks.append(padding_mask(nonpad_kv_seqlen, n_k)[:, np.newaxis])
    if is_causal and padded:
        masks.append(key <= place)
    if left_window_size >= 0:
        masks.append(key >= place - left_window_size)
    if right_window_size >= 0:
        masks.append(key <= place + right_window_size)

    how = {
        "mask": reduce(both, masks) if masks else None,
        "causal": bool(is_causal) and not padded,
        "offset": offset if is_causal and not padded else 0,
        "scale": scale,
    }
    output, A = scaled_dot_product_attention(Q, K, V, **how)
    scores = attention_steps(Q, K, V, scale=scale).S_scaled
    masked_scores = attention_steps(Q, K, V, **how).S_scaled
    return {
        "Y": merge_heads(output) if heads_together else output,
        "qk_matmul_output": (scores, scores, masked_scores, A)[qk_matmul_output_mode],
        **present,
    }


def onnx_softmax(input, *, axis=-1):
    return {"output": softmax(input, axis=axis)}


OPERATORS = {"Attention": onnx_attention, "Softmax": onnx_softmax}

FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE

# Which values of an attribute plain attention can express, and why no others.
LIMITS = {
    "softcap": (
        lambda cap: cap == 0,
        "a tanh between scaling and mask, which plain attention does not have",
    ),
    "softmax_precision": (
        lambda precision: precision in (FLOAT, DOUBLE),
        "a softmax below float32, the least that the library computes in",
    ),
    "qk_matmul_output_mode": (lambda mode: mode in range(4), "an unknown mode"),
}

OUTPUTS = {"Y", "qk_matmul_output", "present_key", "present_value", "output"}

# In halves of the dtype's last bit, for numbers of the order of 1: in the two short ones ONNX rounds
# after every step, in float32 the library does too, and processors differ.
TOLERANCE = {"bfloat16": 4 * 2**-8, "float16": 4 * 2**-11, "float32": 16 * 2**-24}

# What onnx 1.23.0, the oldest supported, has for plain attention.
AT_LEAST = {"Attention": 82, "Softmax": 7}


class Case(NamedTuple):
    name: str
    operator: str
    given: dict
    expected: dict


def named(formal, names, arrays):
    """Return the arrays by the names that the standard has for them; "" stands for one left out."""
    present = [parameter.name for parameter, name in zip(formal, names, strict=False) if name]
    return dict(zip(present, arrays, strict=True))


def read(case):
    (node,) = case.model.graph.node
    (opset,) = case.model.opset_import
    schema = onnx.defs.get_schema(node.op_type, opset.version, node.domain)
    ((inputs, outputs),) = case.data_sets
    given = named(schema.inputs, node.input, inputs)
    given |= {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return Case(case.name, node.op_type, given, named(schema.outputs, node.output, outputs))


def why_not(case):
    """Return the reasons why plain attention cannot express a case; none if it can."""
    known = inspect.signature(OPERATORS[case.operator]).parameters
    for name, value in case.given.items():
        if name in LIMITS:
            expressible, reason = LIMITS[name]
            if not expressible(value):
                yield f"{name}: {reason}"
        elif name not in known:
            yield f"unknown attribute or input {name}"
    for name, array in case.expected.items():
        if name not in OUTPUTS:
            yield f"unknown output {name}"
        if array.dtype.name not in TOLERANCE:
            yield f"unknown dtype {array.dtype}"


# Importing its module makes the cases of an operator; onnx's own collect_testcases would make those
# of all operators.
for operator in OPERATORS:
    import_module(f"{onnx_cases.__name__}.{operator.lower()}")

# Each case stands there a second time, with the operator written out in simpler ones and the very
# same numbers.
ONCE = [case for case in onnx_cases._NodeTestCases if "_expanded" not in case.name]
EXPANDED = [case for case in onnx_cases._NodeTestCases if "_expanded" in case.name]

CASES = [read(case) for case in ONCE]
EXPRESSIBLE = [case for case in CASES if not any(why_not(case))]

passed = Counter()


def widened(value):
    """Return bfloat16, which NumPy itself does not know, in float32, which holds all its numbers."""
    is_bfloat16 = isinstance(value, np.ndarray) and value.dtype.name == "bfloat16"
    return value.astype(np.float32) if is_bfloat16 else value


@pytest.mark.parametrize("case", EXPRESSIBLE, ids=lambda case: case.name.removeprefix("test_"))
def test_library_agrees_with(case):
    operator = OPERATORS[case.operator]
    known = inspect.signature(operator).parameters
    made = operator(**{name: widened(x) for name, x in case.given.items() if name in known})
    for name, expected in case.expected.items():
        tolerance = TOLERANCE[expected.dtype.name]
        assert_allclose(made[name], widened(expected), rtol=tolerance, atol=tolerance, err_msg=name)
        assert np.result_type(made[name], np.float32) == np.float32
    passed[case.operator] += 1


def test_expanded_cases_are_left_out_for_having_the_numbers_of_one_that_is_not():
    def numbers(case):
        return [id(array) for arrays in case.data_sets[0] for array in arrays]

    kept = [numbers(case) for case in ONCE]
    assert [case.name for case in EXPANDED if numbers(case) not in kept] == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"softcap": 2.0}, "softcap: a tanh"),
        ({"softcap": 0.0}, None),
        ({"softmax_precision": onnx.TensorProto.FLOAT16}, "softmax_precision: .* below float32"),
        ({"softmax_precision": onnx.TensorProto.DOUBLE}, None),
        ({"qk_matmul_output_mode": 4}, "qk_matmul_output_mode: an unknown mode"),
        ({"sinks": np.zeros(3)}, "unknown attribute or input sinks"),
    ],
)
def test_what_plain_attention_does_not_have_makes_a_case_not_expressible(given, reason):
    case = EXPRESSIBLE[0]
    found = list(why_not(case._replace(given=case.given | given)))
    assert len(found) == (reason is not None)
    assert all(re.match(reason, text) for text in found)


def test_unknown_output_or_dtype_makes_a_case_not_expressible():
    case = EXPRESSIBLE[0]._replace(expected={"lse": np.zeros(3, complex)})
    assert list(why_not(case)) == ["unknown output lse", "unknown dtype complex128"]


def test_no_fewer_cases_are_run_than_the_oldest_supported_onnx_has(record_property):
    """It stands last, to say how many of them passed."""
    run = Counter(case.operator for case in EXPRESSIBLE)
    lines = [
        f"ONNX {onnx.__version__}, its own test cases, without {len(EXPANDED)} expanded twins:"
    ]
    for operator, count in Counter(case.operator for case in CASES).items():
        lines.append(
            f"  {operator:10} {count} cases, {run[operator]} run, {passed[operator]} passed"
        )
    reasons = Counter(" and ".join(why_not(case)) for case in CASES if any(why_not(case)))
    lines += [f"  not expressible, {count}: {reason}" for reason, count in reasons.items()]
    record_property("summary", "\n".join(lines))
    assert [operator for operator in OPERATORS if run[operator] < AT_LEAST[operator]] == []
