"""INT96 by plain Spark's own defaults: a door of delta-rs keeps its times."""

from deltalake import DeltaTable
from upath import UPath

from spark_jobs.storage import compaction, rewrite
from spark_jobs.storage.delta_log import Log

TIMES = ("0001-01-01 00:00:00", "1500-02-28 23:59:59.999999", "9999-12-31 23:59:59.999999")


def test_times_that_plain_spark_updated_stay_when_delta_rs_joins_their_files(spark, tmp_path):
    path, kind = str(tmp_path / "a table"), "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(kind)
    spark.conf.set(kind, "INT96")  # Spark's default
    try:
        for n, at in enumerate(TIMES):
            rows = spark.sql(
                f"SELECT 'a b' AS part, {n} AS n, TIMESTAMP '{at}' AS at, "
                f"array(named_struct('at', TIMESTAMP '{at}', 'n', TIMESTAMP_NTZ '{at}')) AS more"
            )
            rows.coalesce(1).write.format("delta").mode("append").partitionBy("part").save(path)
        spark.sql(f"UPDATE delta.`{path}` SET n = n + 10 WHERE n = 1")
    finally:
        spark.conf.set(kind, before)
    read = (
        f"SELECT part, n, cast(at AS string), cast(more AS string) FROM delta.`{path}` ORDER BY n"
    )
    rows = spark.sql(read).collect()
    assert len(rewrite.inexact(DeltaTable(path))) == len(TIMES)

    compaction.compact(UPath(path))

    assert len(DeltaTable(path).file_uris()) == 1
    assert spark.sql(read).collect() == rows
    assert [row[2] for row in rows] == [TIMES[0], TIMES[2], TIMES[1]]


def test_a_deletion_vector_stays_with_the_file_that_is_written_again(spark, tmp_path):
    path, kind = str(tmp_path / "t"), "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(kind)
    spark.conf.set(kind, "INT96")
    try:
        rows = ", ".join(f"({n}, TIMESTAMP '{at}')" for n, at in enumerate(TIMES))
        spark.sql(
            f"CREATE TABLE delta.`{path}` (n INT, at TIMESTAMP) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
        spark.sql(f"DELETE FROM delta.`{path}` WHERE n = 0")
    finally:
        spark.conf.set(kind, before)

    assert rewrite.make_exact(DeltaTable(path)) == 1

    found = spark.sql(f"SELECT n, cast(at AS string) FROM delta.`{path}` ORDER BY n").collect()
    assert [tuple(row) for row in found] == [(1, TIMES[1]), (2, TIMES[2])]
    [file] = Log.of(UPath(path)).replay(DeltaTable(path).version()).added.values()
    assert file["deletionVector"]
