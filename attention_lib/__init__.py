"""Scaled dot-product attention, one step at a time, in NumPy.

    output = softmax(Q K^T / sqrt(d_k)) V

    Q (n_q, d_k) --+
                   +-- attention_scores --> S (n_q, n_k)          raw scores
    K (n_k, d_k) --+                        |
                                       scale_scores               / sqrt(d_k)
                                            |
                                            S_scaled (n_q, n_k)   scaled scores
                                            |
    causal_mask, padding_mask ......... apply_mask                optional: hidden keys to -inf
                                            |
                                         softmax                  each row on its own
                                            |
                                            A (n_q, n_k)          weights, rows sum to 1
                                            |
    V (n_k, d_v) ----------------- weighted_values
                                            |
                                            output (n_q, d_v)     one mixed value per query

`attention_steps` runs all of it and keeps what each step made; `scaled_dot_product_attention`
returns the output and the weights; `attention_gradients` goes through the steps backwards. For long
sequences, `tiled_attention` makes the output from tiles of scores; `partial_attention` attends to
some of the keys, and `merge` joins what it made. Axes before the last two are batch axes, heads
included.

Drawing lives in `attention_lib.heatmap` and `attention_lib.figures`, which need matplotlib;
everything named here needs NumPy alone.
"""

# In the order in which the data flows.
from .steps.scores import attention_scores
from .steps.scaling import scale_scores
from .masks import causal_mask, padding_mask, apply_mask
from .steps.softmax import softmax
from .steps.weighted_values import weighted_values
from .attention import AttentionSteps, attention_steps, scaled_dot_product_attention
from .tiled import PartialAttention, tiled_attention, partial_attention, merge
from .measures import row_entropy
from .gradients import AttentionGradients, attention_gradients, softmax_jacobian, softmax_vjp

__version__ = "0.1.0"

__all__ = [
    "attention_scores",
    "scale_scores",
    "causal_mask",
    "padding_mask",
    "apply_mask",
    "softmax",
    "weighted_values",
    "AttentionSteps",
    "attention_steps",
    "scaled_dot_product_attention",
    "PartialAttention",
    "tiled_attention",
    "partial_attention",
    "merge",
    "row_entropy",
    "softmax_jacobian",
    "softmax_vjp",
    "AttentionGradients",
    "attention_gradients",
]
