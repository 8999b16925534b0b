"""Functions of Spark's own that SQL in a spec may not call, each with the reason.

What is in neither this list nor that of the allowed ones (steps/sql/functions.py) is refused too,
by Spark's parser. These are refused by the tokens alone, without a JVM.
"""

from __future__ import annotations

from typing import Final

_JAVA = "calls into the JVM, with the rights of the whole job"
_PLACE = "tells where Spark ran a task, which another try of the batch may run elsewhere"
_CHANCE = "gives another value each time, so another try of the batch would give other rows"
_SESSION = "tells of the session that runs the query, and not of the record"
_FILES = "may read files, and is not part of Sluice's image"
REFUSED: Final = {
    "reflect": _JAVA,
    "try_reflect": _JAVA,
    "java_method": _JAVA,
    "input_file_name": _PLACE,
    "input_file_block_start": _PLACE,
    "input_file_block_length": _PLACE,
    "spark_partition_id": _PLACE,
    "monotonically_increasing_id": _PLACE,
    "rand": _CHANCE,
    "random": _CHANCE,
    "randn": _CHANCE,
    "randstr": _CHANCE,
    "uniform": _CHANCE,
    "shuffle": _CHANCE,
    "uuid": _CHANCE,
    "aes_encrypt": _CHANCE,
    "current_user": _SESSION,
    "user": _SESSION,
    "session_user": _SESSION,
    "current_catalog": _SESSION,
    "current_database": _SESSION,
    "current_schema": _SESSION,
    "current_path": _SESSION,
    "version": _SESSION,
    "python_worker_logs": _SESSION,
    "from_avro": _FILES,
    "to_avro": _FILES,
    "schema_of_avro": _FILES,
    "from_protobuf": _FILES,
    "to_protobuf": _FILES,
}
"""Function that is looked at and refused -> why."""
