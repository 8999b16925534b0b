"""Install: makes the environment of Spark's side: packages, jars and class-data archive.

May import: checkpoint, errors, fingerprint, launch, pinned, registry, root, settings,
source, spec, storage, warm. Imported by: cli.
Never here: a command's words and options, which cli has.
"""
