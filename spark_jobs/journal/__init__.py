"""Journal: every change of several steps, with one note and one way of going on."""
