"""Settings: the one declaration of what an installation sets, from its environment and its Kafka
properties. docs/reference.md is made from it.

May import: errors, spec, storage. Imported by: any room above.
Never here: what a spec sets, or Spark's own settings.
"""
