"""Install: makes the environment of Spark's side: packages, jars and class-data archive.

May import: any room below. Imported by: any room above.
Never here: a command's words and options, which cli has.
"""
