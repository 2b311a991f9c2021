"""pytest, for the whole checkout."""

pytest_plugins = ["nbval_strict"]
