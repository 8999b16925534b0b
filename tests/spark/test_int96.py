"""INT96 by plain Spark's own defaults: a door of delta-rs keeps its times."""

from deltalake import DeltaTable
from upath import UPath

from spark_jobs.storage import compaction, rewrite

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
