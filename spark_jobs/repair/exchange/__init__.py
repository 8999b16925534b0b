"""Exchanges staged rows for the table's, in one commit, and takes that back; without Spark."""
