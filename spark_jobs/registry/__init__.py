"""Registry: finds the pipelines, and reads their code as text, without running it.

May import: errors, settings, spec, storage, values. Imported by: any room above.
Never here: what Spark or a broker is needed for.
"""
