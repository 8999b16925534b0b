"""At work: what is known of a drain while it works, by what it writes anyway; without Spark.

Never here: a write.
"""
