"""The four steps of attention, one file each. They do not import one another."""
