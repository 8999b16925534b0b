"""SQL: what Spark's own parser makes of the SQL in a spec.

Never here: what is refused without a JVM, which is in spec/sql.
"""
