"""Where a JVM that Sluice starts writes beside the root."""

import os
import tempfile
from pathlib import Path


def test_all_that_a_jvm_writes_by_itself_lies_in_its_users_folder(spark):
    java = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to Java's objects
    context = spark.sparkContext._jsc  # noqa: SLF001 - as above
    hadoop = context.hadoopConfiguration()
    configured = java.org.apache.spark.util.Utils.getConfiguredLocalDirs(context.sc().conf())
    home = Path(tempfile.gettempdir()) / f"sluice-scratch-{os.getuid()}"
    for place in (
        java.System.getProperty("java.io.tmpdir"),
        hadoop.get("hadoop.tmp.dir"),
        hadoop.get("fs.s3a.buffer.dir"),
        *configured,
    ):
        assert Path(place).is_relative_to(home), place
