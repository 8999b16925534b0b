"""Registry: finds the pipelines, reads their code as text, without running it, and tells one the
columns of another.

May import: errors, settings, spec, storage, values. Imported by: any room above.
Never here: what Spark or a broker is needed for.
"""
