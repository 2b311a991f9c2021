"""The exercises, a module for each notebook, and all of them by name."""

from . import (
    backward,
    learning,
    long_sequences,
    masks,
    overview,
    real_heads,
    scaling,
    scores,
    softmax,
    weighted_values,
    write_it_all,
)

# By the name of their notebook.
MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        overview,
        scores,
        scaling,
        softmax,
        weighted_values,
        masks,
        backward,
        learning,
        real_heads,
        long_sequences,
        write_it_all,
    )
}
EXERCISES = {exercise.name: exercise for module in MODULES.values() for exercise in module.ALL}
