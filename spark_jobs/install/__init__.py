"""Install: makes the environment of Spark's side: packages, jars and class-data archive.

May import: errors, settings. Imported by: cli.
Never here: a command's words and options, which cli has.
"""
