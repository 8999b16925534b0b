"""Pipeline: the spec of a pipeline. It declares everything in which two pipelines differ."""
