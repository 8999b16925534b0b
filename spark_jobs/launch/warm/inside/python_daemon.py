"""The Python daemon of a worker: the process from which Spark forks Python workers.

Spark's own (pyspark.daemon) imports nothing before it forks, so each worker imports pandas, pyarrow
and the decoder anew, half a processor second: a fifth of what warm drains take. This one imports
them once. Spark's reason not to is that a library may start threads, which a fork does not take
along: of these, only Arrow's allocator has one, and it is made for forks (jemalloc's
pthread_atfork).

It never loads a pipeline's code: the workers that have are killed behind each drain (jvm.py).

A drain of its own has Spark's: there the imports of two workers at once end sooner than one
process's imports before them (bench/NOTES.md).

Source: spark.python.daemon.module, in org.apache.spark.api.python.PythonWorkerFactory.
"""

from __future__ import annotations

import gc
import importlib

from spark_jobs.launch.quiet_python_daemon import serve

IMPORTED = (
    "pandas",
    "pyarrow",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "spark_jobs.decode.decoder",
)
"""What every worker of a drain imports first."""


def main() -> None:
    """Serve Spark until it closes the standard input."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What is imported by now lives as long as its process: no worker looks through it for garbage.
    gc.collect()
    gc.freeze()
    serve()


if __name__ == "__main__":
    main()
