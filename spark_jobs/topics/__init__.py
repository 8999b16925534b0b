"""Topics that more than one pipeline reads. A topic with a single reader is declared in that
pipeline's spec.

May import: spec. Imported by: pipelines.
Never here: anything but declarations.
"""
