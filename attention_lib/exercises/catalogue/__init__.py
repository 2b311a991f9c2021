"""The exercises, a module for each notebook, and all of them by name."""

from . import (
    backward,
    learning,
    masks,
    overview,
    real_heads,
    scaling,
    scores,
    softmax,
    weighted_values,
    write_it_all,
)

EXERCISES = {
    exercise.name: exercise
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
        write_it_all,
    )
    for exercise in module.ALL
}
