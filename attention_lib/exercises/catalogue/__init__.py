"""The exercises, a module for each notebook, and all of them by name."""

from . import masks, overview, scaling, scores, softmax, weighted_values

EXERCISES = {
    exercise.name: exercise
    for module in (overview, scores, scaling, softmax, weighted_values, masks)
    for exercise in module.ALL
}
