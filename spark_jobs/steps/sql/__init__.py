"""What Spark's own parser makes of the SQL in a spec."""
