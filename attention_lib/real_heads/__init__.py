"""Heads of a trained model, all-MiniLM-L6-v2, with the chapter's names: from a sentence to A.

    sentence --tokenise--> tokens --> X (n, 384) --> Q, K, V (n, 32) of one head
                                                     |
                                            the four steps of attention_lib

- `tokenise(sentence)` gives the tokens, [CLS] and [SEP] included.
- `real_head(sentence, layer, head)` gives tokens, X, the projections, Q, K and V, for any sentence
  of known words, in layers 0 and 1: the snapshot holds no more of the model.
- `real_weights(sentence, layer, head)` gives the tokens and A (n, n): computed in layers 0 and 1,
  looked up in layers 2 to 5, where only the `SENTENCES` are stored. This is the one to call from
  a picture with a slider for layer (0 to 5), head (0 to 11) and sentence.
- `all_weights(sentence)` gives the tokens and A (6, 12, n, n) of a stored sentence.

Layers and heads count from 0; "L1H3" is layer 1, head 3. Whatever cannot be answered raises a
ValueError whose text says why, and names words or sentences that can. Nothing is downloaded.
"""

import functools
from typing import NamedTuple

import numpy as np

from .. import validation
from ..attention import scaled_dot_product_attention
from . import snapshot, transformer
from .sentences import SENTENCES, WITH_SHIFTS, held_out
from .transformer import HEADS, LAYERS
from .wordpieces import pieces_of

__all__ = [
    "SENTENCES",
    "RealHead",
    "all_weights",
    "embedding_shifts",
    "held_out",
    "held_out_rows",
    "known_words",
    "real_head",
    "real_weights",
    "sentence_embedding",
    "tokenise",
    "value_lengths",
]

COMPUTED = 2  # layers whose projections are in the snapshot


class RealHead(NamedTuple):
    """One head at work on a sentence, in the order in which its arrays are made."""

    tokens: tuple
    X: np.ndarray
    W_Q: np.ndarray
    W_K: np.ndarray
    W_V: np.ndarray
    b_Q: np.ndarray
    b_K: np.ndarray
    b_V: np.ndarray
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray


def tokenise(sentence):
    """Cut a sentence into the model's tokens: words, pieces of words, signs, [CLS] and [SEP].

    Parameters
    ----------
    sentence : str
        Words that the snapshot knows; capitals and accents do not count.

    Returns
    -------
    tuple of str
        [CLS], the tokens, [SEP]. A piece that continues a word begins with ##.

    Raises
    ------
    ValueError
        If a word has no embedding in the snapshot (with words that are near to it), if there
        is no word, or if there are more tokens than it holds places for.
    TypeError
        If it is not a text.

    Examples
    --------
    >>> tokenise("Owls hunt at night.")
    ('[CLS]', 'owls', 'hunt', 'at', 'night', '.', '[SEP]')

    References
    ----------
    Devlin et al. (2019), BERT, arXiv:1810.04805, section 3.
    """
    return _tokens("tokenise", sentence)


def known_words():
    """Return the words that are one token in the snapshot, in alphabetical order.

    Returns
    -------
    list of str
        Words, without signs and without pieces that only continue a word.

    Examples
    --------
    >>> words = known_words()
    >>> "girl" in words, "zeugma" in words
    (True, False)
    """
    return sorted(piece for piece in snapshot.pieces() if piece.isalpha())


def real_head(sentence, layer, head):
    """Compute one head's inputs for a sentence: X, the projections, and Q = X W_Q + b_Q and so on.

    In this model a projection has a bias, a row that is added to each token's; the chapter's has
    none. X of layer 0 is the embeddings, X of layer 1 what layer 0 made of them.

    Parameters
    ----------
    sentence : str
        As for `tokenise`.
    layer : int
        0 or 1: the snapshot holds these two.
    head : int
        One of twelve, from 0.

    Returns
    -------
    RealHead
        A named tuple: tokens (n strings), X (n, d_model), W_Q and W_K (d_model, d_k), W_V
        (d_model, d_v), b_Q, b_K and b_V (a number for each column), Q and K (n, d_k), V (n, d_v);
        all float64 and new at each call.

    Raises
    ------
    ValueError
        If there is no such layer or head, or the sentence cannot be tokenised.
    TypeError
        If layer or head is not a whole number, or the sentence not a text.

    Examples
    --------
    >>> from attention_lib import scaled_dot_product_attention
    >>> she = real_head("The boy saw the girl before she left.", layer=1, head=3)
    >>> output, A = scaled_dot_product_attention(she.Q, she.K, she.V)
    >>> row = dict(zip(she.tokens, A[she.tokens.index("she")]))
    >>> f"girl {row['girl']:.1f}, boy {row['boy']:.1f}"
    'girl 0.5, boy 0.0'
    >>> she.X.shape, she.W_Q.shape, she.Q.shape
    ((11, 384), (384, 32), (11, 32))

    References
    ----------
    Wang et al. (2020), MiniLM, arXiv:2002.10957; the model's source is in SOURCE.md.
    """
    where = "real_head"
    layer = validation.layer_of_model(where, layer, COMPUTED, "the snapshot holds")
    head = validation.head_of_model(where, head, HEADS)
    tokens = _tokens(where, sentence)
    X = _inputs(tokens)[layer].copy()
    *W, b_Q, b_K, b_V = map(np.array, transformer.projections(snapshot.parameters(), layer, head))
    Q, K, V = (X @ its_W + its_b for its_W, its_b in zip(W, (b_Q, b_K, b_V), strict=True))
    return RealHead(tokens, X, *W, b_Q, b_K, b_V, Q, K, V)


def real_weights(sentence, layer, head):
    """Return the tokens of a sentence and the weights of one head over them.

    Parameters
    ----------
    sentence : str
        In layers 0 and 1 any sentence that can be tokenised, in layers 2 to 5 one of `SENTENCES`.
    layer : int
        0 to 5.
    head : int
        One of twelve, from 0.

    Returns
    -------
    tokens : tuple of str
        The n tokens, [CLS] and [SEP] included.
    A : ndarray, shape (n, n)
        A row of weights per query, each summing to 1; float64 and new at each call.

    Raises
    ------
    ValueError
        If there is no such layer or head, the sentence cannot be tokenised, or the layer is above
        1 and the sentence is not stored.
    TypeError
        If layer or head is not a whole number, or the sentence not a text.

    Examples
    --------
    >>> tokens, A = real_weights("Owls hunt quietly at night.", layer=0, head=2)
    >>> tokens[2], tokens[A[2].argmax()]  # a head that looks at the token before
    ('hunt', 'owls')
    """
    where = "real_weights"
    layer = validation.layer_of_model(where, layer, LAYERS, "the model has")
    head = validation.head_of_model(where, head, HEADS)
    tokens = _tokens(where, sentence)
    if layer >= COMPUTED:
        place = validation.stored_sentence(where, tokens, _stored(), SENTENCES, COMPUTED)
        return tokens, _stored_weights(place)[layer, head]
    Q, K, V = transformer.all_heads(snapshot.parameters(), layer, _inputs(tokens)[layer])
    return tokens, scaled_dot_product_attention(Q[head], K[head], V[head])[1]


def all_weights(sentence):
    """Return the tokens of a stored sentence and the weights of all heads of the model.

    They were computed with the whole model, and stored; `real_weights` computes those of layers
    0 and 1 anew.

    Parameters
    ----------
    sentence : str
        One of `SENTENCES`; capitals and blanks do not count.

    Returns
    -------
    tokens : tuple of str
        The n tokens, [CLS] and [SEP] included.
    A : ndarray, shape (6, 12, n, n)
        By layer and head; float64 and new at each call.

    Raises
    ------
    ValueError
        If the sentence is not stored, or cannot be tokenised.
    TypeError
        If it is not a text.

    Examples
    --------
    >>> tokens, A = all_weights("Owls hunt quietly at night.")
    >>> len(tokens), A.shape
    (8, (6, 12, 8, 8))
    """
    tokens, place = _place("all_weights", sentence)
    return tokens, _stored_weights(place)


def value_lengths(sentence):
    """Return how long each token's value vector is, in all heads, for a stored sentence.

    Parameters
    ----------
    sentence : str
        One of `SENTENCES`.

    Returns
    -------
    ndarray, shape (6, 12, n)
        The lengths of the rows of V, by layer and head.

    Raises
    ------
    ValueError
        If the sentence is not stored, or cannot be tokenised.
    TypeError
        If it is not a text.

    Examples
    --------
    >>> value_lengths("Owls hunt quietly at night.").shape
    (6, 12, 8)
    """
    tokens, place = _place("value_lengths", sentence)
    return snapshot.atlas()["lengths"][place, :, :, : len(tokens)].astype(float)


def held_out_rows():
    """Return the pronoun's row of weights in all heads, for each of the `held_out` sentences.

    Returns
    -------
    ndarray, shape (96, 6, 12, 19)
        A row for each sentence, layer and head, over the tokens; 0 behind the end of a sentence.

    Examples
    --------
    >>> held_out_rows().shape
    (96, 6, 12, 19)
    """
    return _rows_of(snapshot.atlas()["rows"])


def sentence_embedding(sentence):
    """Return what the whole model makes of a stored sentence: the mean of its last layer's rows.

    Parameters
    ----------
    sentence : str
        One of `SENTENCES`.

    Returns
    -------
    ndarray, shape (d_model,)
        The embedding of the sentence. The model was trained to give sentences of like meaning
        embeddings of like direction.

    Raises
    ------
    ValueError
        If the sentence is not stored, or cannot be tokenised.
    TypeError
        If it is not a text.

    Examples
    --------
    >>> sentence_embedding("Owls hunt quietly at night.").shape
    (384,)
    """
    return snapshot.atlas()["embeddings"][_place("sentence_embedding", sentence)[1]].astype(float)


def embedding_shifts(sentence):
    """Return for each head how far the sentence's embedding turns when the pronoun's row is made even.

    In one head at a time, the weights of the query "he" or "she" were replaced by equal ones, and
    the rest of the model was run from there.

    Parameters
    ----------
    sentence : str
        One of the first four of `SENTENCES`.

    Returns
    -------
    ndarray, shape (6, 12)
        1 - the cosine between the embedding and the one with the even row, by layer and head.

    Raises
    ------
    ValueError
        If the sentence is not one of them.
    TypeError
        If it is not a text.

    Examples
    --------
    >>> embedding_shifts("The boy saw the girl before she left.").shape
    (6, 12)
    """
    where = "embedding_shifts"
    tokens = _tokens(where, sentence)
    with_shifts = {its: place for its, place in _stored().items() if place < WITH_SHIFTS}
    place = validation.stored_sentence(where, tokens, with_shifts, SENTENCES[:WITH_SHIFTS])
    return snapshot.atlas()["shifts"][place].astype(float)


def _tokens(where, sentence):
    sentence = validation.text(where, "sentence", sentence)
    words = pieces_of(sentence, _vocabulary())
    known = snapshot.pieces()
    places = len(snapshot.parameters()["embeddings.position_embeddings.weight"])
    validation.words_of_snapshot(where, sentence, words, known, len(_vocabulary()), places)
    return ("[CLS]", *(piece for _, pieces in words for piece in pieces), "[SEP]")


@functools.cache
def _vocabulary():
    return frozenset(snapshot.vocabulary())


@functools.lru_cache(maxsize=256)
def _inputs(tokens):
    """Return X of each layer that the snapshot can compute, for tokens that it knows."""
    parameters = snapshot.parameters()
    inputs = [transformer.embed(parameters, [snapshot.pieces()[token] for token in tokens])]
    for layer in range(COMPUTED - 1):
        Q, K, V = transformer.all_heads(parameters, layer, inputs[-1])
        output, _ = scaled_dot_product_attention(Q, K, V)
        inputs.append(transformer.after_layer(parameters, layer, inputs[-1], output))
    return inputs


@functools.cache
def _stored():
    """Return the tokens of each stored sentence, with its place."""
    return {_tokens("stored", sentence): place for place, sentence in enumerate(SENTENCES)}


def _place(where, sentence):
    tokens = _tokens(where, sentence)
    return tokens, validation.stored_sentence(where, tokens, _stored(), SENTENCES)


def _stored_weights(place):
    n = next(len(tokens) for tokens, its in _stored().items() if its == place)
    return _rows_of(snapshot.atlas()["weights"][place, :, :, :n, :n])


def _rows_of(stored):
    """Return stored weights in float64, with the rounding taken out of the rows' sums."""
    A = stored.astype(float)
    return A / A.sum(axis=-1, keepdims=True)
