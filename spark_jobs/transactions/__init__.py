"""Transactions: where a run ends so that it has whole transactions of the source alone, by the
topic in which Debezium tells their BEGIN and END.

May import: errors, messages, settings, source, spec, storage, values. Imported by: no room.
Never here: what a step makes of a change.
"""

from spark_jobs.transactions.declaration import Transactions

__all__ = ["Transactions"]
