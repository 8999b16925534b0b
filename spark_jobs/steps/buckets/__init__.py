"""GroupState in buckets: many keys of a GroupState as one key of Spark's."""
