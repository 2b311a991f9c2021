"""The exercises, a module for each notebook, and all of them by name."""

from . import learning, masks, overview, scaling, scores, softmax, weighted_values

EXERCISES = {
    exercise.name: exercise
    for module in (overview, scores, scaling, softmax, weighted_values, masks, learning)
    for exercise in module.ALL
}
