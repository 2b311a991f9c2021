"""The snapshot of a trained model: what it holds, what it answers, and that it agrees with the whole model."""

import hashlib
import json

import numpy as np
import pytest

from attention_lib import attention_steps
from attention_lib.real_heads import (
    SENTENCES,
    all_weights,
    embedding_shifts,
    held_out,
    held_out_rows,
    known_words,
    real_head,
    real_weights,
    sentence_embedding,
    snapshot,
    tokenise,
    value_lengths,
)
from attention_lib.real_heads.wordpieces import pieces_of

MEASURED = json.loads((snapshot.FOLDER / "measured.json").read_text(encoding="utf-8"))


def test_files_are_those_that_were_measured_and_small():
    for name, sha256 in MEASURED["sha256"].items():
        assert hashlib.sha256((snapshot.FOLDER / name).read_bytes()).hexdigest() == sha256
    assert sum(path.stat().st_size for path in snapshot.FOLDER.glob("*.*")) < 6e6


def test_licence_and_source_stand_beside_the_data():
    assert "Apache License" in (snapshot.FOLDER / "LICENSE").read_text(encoding="utf-8")
    source = (snapshot.FOLDER / "SOURCE.md").read_text(encoding="utf-8")
    assert "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in source


def test_largest_difference_that_was_measured_is_below_a_hundredth():
    assert max(MEASURED["largest difference"].values()) < 1e-2


@pytest.mark.parametrize("sentence", SENTENCES)
def test_weights_from_the_snapshot_agree_with_those_of_the_whole_model(sentence):
    tokens, A = all_weights(sentence)
    for layer, head in np.ndindex(2, 12):
        same, computed = real_weights(sentence, layer, head)
        assert same == tokens
        assert np.abs(computed - A[layer, head]).max() < 1e-2


def test_pronouns_rows_agree_with_those_of_the_whole_model():
    stored = held_out_rows()
    for (sentence, pronoun, *_), rows in zip(held_out(), stored, strict=True):
        tokens, A = real_weights(sentence, 1, 3)
        computed = A[tokens.index(pronoun)]
        assert np.abs(computed - rows[1, 3, : len(tokens)]).max() < 1e-2
        assert not rows[..., len(tokens) :].any()


def test_rows_sum_to_1_and_sizes_are_those_of_the_model():
    tokens, A = all_weights(SENTENCES[0])
    n = len(tokens)
    np.testing.assert_allclose(A.sum(axis=-1), 1)
    np.testing.assert_allclose(held_out_rows().sum(axis=-1), 1)
    assert (A.shape, value_lengths(SENTENCES[0]).shape) == ((6, 12, n, n), (6, 12, n))
    assert embedding_shifts(SENTENCES[0]).shape == (6, 12)
    assert sentence_embedding(SENTENCES[0]).shape == (384,)


def test_head_is_what_the_four_steps_make_of_its_own_arrays():
    she = real_head(SENTENCES[0], layer=1, head=3)
    np.testing.assert_allclose(she.Q, she.X @ she.W_Q + she.b_Q)
    A = attention_steps(she.Q, she.K, she.V).A
    np.testing.assert_allclose(A, real_weights(SENTENCES[0], 1, 3)[1], atol=1e-12)
    row = dict(zip(she.tokens, A[she.tokens.index("she")], strict=True))
    assert (round(row["girl"], 2), round(row["boy"], 2)) == (0.5, 0.04)


def test_what_is_returned_may_be_changed_without_harm():
    before = real_weights(SENTENCES[0], 1, 3)[1]
    head = real_head(SENTENCES[0], 1, 3)
    for array in head[1:]:
        array[...] = 0
    all_weights(SENTENCES[0])[1][...] = 0
    np.testing.assert_array_equal(real_weights(SENTENCES[0], 1, 3)[1], before)


def test_numbers_of_twelve_bits_come_back():
    whole = np.array([[-3.0, 0, 1.5, 3], [0, 0, 0, 0], [1e-3, -2e-3, 0, 1e-4]])
    packed, scale = snapshot.pack(whole)
    assert packed.shape == (3, 6)
    half_a_step = np.abs(whole).max(axis=1, keepdims=True) / snapshot.LARGEST / 2
    assert (np.abs(snapshot.unpack(packed, scale) - whole) <= half_a_step * 1.001).all()


def test_held_out_sentences_are_balanced_and_none_has_the_words_that_the_head_was_chosen_with():
    sentences = held_out()
    assert len({sentence for sentence, *_ in sentences}) == 96
    first = [text.find(f" {fits} ") < text.find(f" {other} ") for text, _, fits, other in sentences]
    assert (sum(first), sum(pronoun == "he" for _, pronoun, *_ in sentences)) == (48, 48)
    assert not {"boy", "girl"} & {word for text, *_ in sentences for word in text.lower().split()}
    assert len({len(tokenise(text)) for text, *_ in sentences}) > 2


@pytest.mark.parametrize(
    ("sentence", "pieces"),
    [
        ("The CAFÉ sings!", ["the", "cafe", "sing", "##s", "!"]),
        ("it's 3.14", ["it", "'", "s", "3", ".", "14"]),
        ("zero\u200bwidth", ["[UNK]"]),
        ("日本 go", ["[UNK]", "[UNK]", "go"]),
        ("the\tcafe\nsing", ["the", "cafe", "sing"]),
    ],
)
def test_sentence_is_cut_as_bert_cuts_it(sentence, pieces):
    vocabulary = {"the", "cafe", "sing", "##s", "!", "it", "'", "s", "3", ".", "14", "go"}
    assert [piece for _, its in pieces_of(sentence, vocabulary) for piece in its] == pieces


def test_unknown_word_is_named_with_words_near_to_it():
    with pytest.raises(ValueError, match=r"'gril', for the model gr \+ ##il; near to it: girl"):
        tokenise("The gril left.")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tokenise(""), ValueError, "at least one word"),
        (lambda: tokenise(" \n"), ValueError, "at least one word"),
        (lambda: tokenise("the " * 63), ValueError, "at most 64 tokens"),
        (lambda: tokenise(3), TypeError, "must be a text"),
        (lambda: real_head(SENTENCES[0], 2, 0), ValueError, "the snapshot holds layers 0 to 1"),
        (lambda: real_weights(SENTENCES[0], 6, 0), ValueError, "the model has layers 0 to 5"),
        (lambda: real_weights(SENTENCES[0], 0, 12), ValueError, "heads 0 to 11"),
        (lambda: real_weights(SENTENCES[0], 0, -1), ValueError, "heads 0 to 11"),
        (lambda: real_weights(SENTENCES[0], True, 0), TypeError, "layer must be a whole number"),
        (lambda: real_weights("A dog ran.", 2, 0), ValueError, "ask layers 0 to 1"),
        (lambda: all_weights("A dog ran."), ValueError, "Stored are: The boy saw"),
        (lambda: embedding_shifts(SENTENCES[-1]), ValueError, "Stored are: The boy saw"),
    ],
)
def test_what_cannot_be_answered_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_longest_sentence_fits_and_known_words_can_be_used():
    assert len(tokenise("the " * 62)) == 64
    words = known_words()
    assert words == sorted(set(words))
    assert tokenise(words[0] + " " + words[-1])[1:-1] == (words[0], words[-1])
