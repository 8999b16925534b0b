"""Avro: a writer's schema and the declared reader's become one Python function that decodes."""
