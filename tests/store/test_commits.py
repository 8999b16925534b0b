"""What makes commits safe: the store refuses the second of two writers, whoever they are."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

from spark_jobs.checkpoint import object_lease
from spark_jobs.checkpoint.lease import lease
from spark_jobs.errors import JarsMissing
from spark_jobs.launch import session
from spark_jobs.spec import State
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta import commit, door
from tests.harness.long_form import LONG, long_form
from tests.harness.object_store import ObjectStore
from tests.harness.refused import fails
from tests.harness.store_proxy import Harm, Proxy, between
from tests.harness.turns import alike
from tests.store.root import Root

pytestmark = alike("a write that is raced or taken away changes nothing on a store")

ROW = pa.table({"writer": ["delta-rs"], "number": [0]})
COMMITS = 12 if LONG else 3
BESIDE = 4
"""Commits of delta-rs for each of Spark's, which would else never come to its turn."""
HELD_SECONDS = 5.0
"""For which the proxy keeps a request: longer than another writer's commit takes."""


@pytest.fixture
def root(store, bucket) -> Root:
    return Root(store, bucket)


@pytest.fixture
def proxied(server, store, spark) -> Iterator[tuple[Proxy, Root]]:
    """A bucket of its own, which Spark reaches through a proxy, and delta-rs does not."""
    with between(server.endpoint) as proxy, through(spark, proxy, server) as name:
        yield proxy, Root(server, name)


@contextmanager
def through(spark: Any, proxy: Proxy, server: ObjectStore) -> Iterator[str]:
    """The name of a bucket, its owner's, that Spark reaches through the proxy."""
    name = server.bucket()
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    own = {
        "endpoint": proxy.endpoint,
        "access.key": server.access_key,
        "secret.key": server.secret_key,
        "attempts.maximum": "1",
        "retry.limit": "2",
        "retry.throttle.limit": "2",
        "retry.throttle.interval": "100ms",
    }
    for key, value in own.items():
        hadoop.set(f"fs.s3a.bucket.{name}.{key}", value)
    yield name


def table(url: str, **options: str) -> str:
    told = {**(door.options(url) or {}), **options}
    deltalake.DeltaTable.create(url, deltalake.Schema.from_arrow(ROW.schema), storage_options=told)
    return url


def append_by_delta_rs(url: str, number: int, **options: str) -> None:
    row = pa.table({"writer": ["delta-rs"], "number": [number]})
    deltalake.write_deltalake(
        url, row, mode="append", storage_options={**(door.options(url) or {}), **options}
    )


def append_by_spark(spark: Any, url: str, number: int) -> None:
    rows = spark.createDataFrame([("spark", number)], "writer string, number long").coalesce(1)
    rows.write.format("delta").mode("append").save(spark_url(url))


def rows(url: str, **options: str) -> set[tuple[str, int]]:
    found = deltalake.DeltaTable(url, storage_options={**(door.options(url) or {}), **options})
    there = pa.table(
        deltalake.QueryBuilder().register("t", found).execute("SELECT * FROM t").read_all()
    ).to_pylist()
    assert len(there) == len({(row["writer"], row["number"]) for row in there}), (
        "a commit is there twice"
    )
    return {(row["writer"], row["number"]) for row in there}


def test_a_commit_of_sparks_that_was_on_its_way_while_another_was_made_overwrites_it_not(
    spark, proxied, server
):
    proxy, root = proxied
    keys = {"aws_access_key_id": server.access_key, "aws_secret_access_key": server.secret_key}
    url = table(f"{root.url}/t", **keys)
    append_by_spark(spark, url, 1)
    proxy.do(Harm("slow", r"PUT \S+/_delta_log/0+2\.json", times=1, seconds=HELD_SECONDS))
    writing = threading.Thread(target=append_by_spark, args=(spark, url, 2))
    writing.start()
    wait_for(lambda: bool(proxy.struck), "Spark's commit")
    append_by_delta_rs(url, 2, **keys)
    assert writing.is_alive(), "Spark's commit was not on its way any more"
    writing.join(60)
    assert rows(url, **keys) == {("spark", 1), ("delta-rs", 2), ("spark", 2)}


def merged(rows: Any, known: commit.Commit) -> None:
    commit.merge(rows, ("writer",), known)


@pytest.mark.parametrize("write", [commit.append, commit.replace, merged])
def test_who_has_outslept_the_lease_commits_nothing_by_whichever_command_of_sparks(
    spark, root, monkeypatch, write
):
    """It reads the newest version, which does not tell it that a rewind was there."""
    url = table(f"{root.url}/{write.__name__}")
    place = opened(url) / "lease"

    def writes(name: str, held: Held):
        batch = spark.createDataFrame([(name, 0)], "writer string, number long").coalesce(1)
        with commit.within(spark, held.told):
            write(batch, commit.Commit(spark_url(url), f"p/{name}", 0, {}))

    with lease(place, "who sleeps") as late:
        writes("spark", late)
        assert rows(url) == {("spark", 0)}
        monkeypatch.setattr(object_lease, "TTL_SECONDS", -1.0)
        with lease(place, "who comes next") as prompt:
            append_by_delta_rs(url, 1)
            with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
                writes("late", late)
            assert rows(url) == {("spark", 0), ("delta-rs", 1)}
            writes("next", prompt)
            assert ("next", 0) in rows(url)
    with pytest.raises(Py4JJavaError, match="is another's"):
        writes("released", prompt)


def wait_for(moment: Callable[[], bool], what: str, seconds: float = 60) -> None:
    ended = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if moment():
            return
        ended.wait(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


@long_form
def test_of_spark_and_delta_rs_at_once_on_one_table_every_commit_that_was_told_to_succeed_is_there(
    spark, root
):
    url = table(f"{root.url}/raced")
    told: list[tuple[str, int]] = []
    turns = threading.Semaphore(0)

    def by_delta_rs():
        for number in range(COMMITS * BESIDE):
            turns.acquire()
            append_by_delta_rs(url, number)
            told.append(("delta-rs", number))

    racing = threading.Thread(target=by_delta_rs, daemon=True)
    racing.start()
    for number in range(COMMITS):
        turns.release(BESIDE)
        append_by_spark(spark, url, number)
        told.append(("spark", number))
    racing.join(60)
    assert len(told) == COMMITS * (1 + BESIDE)
    assert rows(url) == set(told)
    entries = [name for name in root.objects("raced/_delta_log") if name.endswith(".json")]
    assert len(entries) == 1 + len(told)


@pytest.mark.parametrize("kind", ["commits", "offsets"])
def test_of_two_queries_the_second_to_write_an_entry_of_the_checkpoints_log_fails_and_changes_nothing(
    spark, root, kind
):
    jvm, name = spark._jvm, f"spark/{kind}/7"  # noqa: SLF001
    there = checkpoints(spark, f"{root.url}/spark")
    entry = path(jvm, f"{root.url}/{name}")
    one, other = (there.createAtomic(entry, False) for _ in range(2))
    for stream, text in ((one, b"first"), (other, b"second")):
        stream.write(text)
    one.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        other.close()
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        there.createAtomic(entry, False).close()
    assert root.read(name) == b"first"


def test_an_entry_that_was_given_up_is_not_there_and_one_that_may_be_overwritten_is(spark, root):
    jvm, name = spark._jvm, f"{root.url}/spark/state/1"  # noqa: SLF001
    given_up = checkpoints(spark, f"{root.url}/spark").createAtomic(path(jvm, name), False)
    given_up.write(b"never")
    given_up.cancel()
    assert root.objects("spark/state/1") == {}
    for text in (b"first", b"second"):
        stream = checkpoints(spark, f"{root.url}/spark").createAtomic(path(jvm, name), True)
        stream.write(text)
        stream.close()
    assert root.read("spark/state/1") == b"second"


def test_an_entry_that_the_store_took_and_could_not_say_so_is_known_for_ones_own(spark, proxied):
    proxy, root = proxied
    proxy.do(Harm("unanswered", r"PUT \S+/spark/commits/7", times=1))
    stream = checkpoints(spark, f"{root.url}/spark").createAtomic(
        path(spark._jvm, f"{root.url}/spark/commits/7"),  # noqa: SLF001
        False,
    )
    stream.write(b"mine")
    stream.close()
    assert len(proxy.struck) == 1
    assert root.read("spark/commits/7") == b"mine"


def test_what_may_be_overwritten_in_deltas_log_is_overwritten_whole_or_not_at_all(spark, root):
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    log = f"{root.url}/t/_delta_log/_last_checkpoint"
    store = spark._jvm.sluice.store.ConditionalLogStore(hadoop)  # noqa: SLF001
    whole, torn = (spark._jvm.java.util.ArrayList() for _ in range(2))  # noqa: SLF001
    for lines, words in (
        (whole, ("first", "second")),
        (torn, ("torn", 7)),
    ):  # a number is no String: next() fails
        for word in words:
            lines.add(word)
    store.write(path(spark._jvm, log), whole.iterator(), True, hadoop)  # noqa: SLF001
    with pytest.raises(Py4JJavaError, match="ClassCastException"):
        store.write(path(spark._jvm, log), torn.iterator(), True, hadoop)  # noqa: SLF001
    assert root.read("t/_delta_log/_last_checkpoint") == b"first\nsecond\n"


@pytest.mark.parametrize("wanted", [0, session.STORE_FORM + 1])
def test_a_jar_of_another_sluice_is_refused_before_a_run_writes(spark, root, monkeypatch, wanted):
    assert session.session("first", State(), root.url)
    monkeypatch.setattr(session, "STORE_FORM", wanted)
    with fails(JarsMissing, "files_jar_stale"):
        session.session("again", State(), root.url)


def checkpoints(spark: Any, url: str) -> Any:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
    return spark._jvm.sluice.store.ConditionalCheckpoints(path(spark._jvm, url), hadoop)  # noqa: SLF001


def path(jvm: Any, url: str) -> Any:
    return jvm.org.apache.hadoop.fs.Path(spark_url(url))
