"""Avro: a writer's schema and the declared reader's become one Python function that decodes.

Never here: a request to a registry, which is in schemas/.
"""
