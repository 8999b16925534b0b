"""Envelopes: what is around the rows of CloudEvents and of Debezium."""
