"""A folder of files in the root's bucket as a source."""

from spark_jobs.errors import FilesUnfit
from tests.harness.refused import because
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_files import FIRST, held, line, spec_of, told
from tests.store.root import Root

pytestmark = alike("a root on a store")


def test_files_in_the_roots_bucket_are_read_once_also_if_they_grow(
    bucket, store, spark, tmp_path, monkeypatch
):
    for name, value in store.variables.items():  # the JVM of a run has them from its start
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    folder = Root(store, bucket)
    spec = spec_of(folder.url, settled="0 seconds", names="*.jsonl")
    made = Root(store, bucket).under(Scene("no.broker:9", tmp_path, spec, topic="rows", stores=1))
    first = "".join(f"{row if isinstance(row, str) else line(*row)}\n" for row in FIRST).encode()
    folder.write("day 1/a#1.jsonl", first)
    folder.write("day 1/other.txt", b"1")
    assert made.run("first").account.read == 4
    folder.write("day 1/a#1.jsonl", first + line(20, "a", 9).encode())
    assert made.run("second").account.read == 1
    assert held(made) == {(0, "a", 1, 1), (0, "b", 1, 2), (9, "a", 1, 4)}
    [fate] = told(made, [2])
    assert (fate.became, fate.origin) == ("malformed", "day 1/a#1.jsonl line 3")
    folder.write("day 1/a#1.jsonl", first)
    because(made.drain("changed").problem, FilesUnfit, "changed", name="day 1/a#1.jsonl")
