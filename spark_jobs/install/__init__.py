"""Install: makes the environment of Spark's side: packages, jars and class-data archive.

May import: checkpoint, errors, launch, registry, settings, source, spec, storage, values. Imported
by: cli.
Never here: a command's words and options, which cli has.
"""
