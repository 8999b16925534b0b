"""Which pipelines there are, and what their code is, read as text."""
