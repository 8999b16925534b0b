"""Transactions: where a run ends so that it has whole transactions of the source alone, by the
topic in which Debezium tells their BEGIN and END.

Never here: what a step makes of a change.
"""
