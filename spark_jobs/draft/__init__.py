"""Draft: a spec from a sample of a topic, which runs unedited, and what it makes of the sample.

May import: any room below. Imported by: any room above.
Never here: Spark, or a write under the root.
"""
