"""Excision: a bad release is taken out of every pipeline of its topic, and brought back; tables are
DuckDB's over the topic with its records or without.
"""

import json
import random
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from confluent_kafka import Producer
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from local.broker import create_topic
from spark_jobs.excise.adopt import taken_over
from spark_jobs.excise.look import Reader, look
from spark_jobs.excise.note import Excision, end, keep
from spark_jobs.excise.told import effect
from spark_jobs.messages.request import Request
from spark_jobs.ops import ops_tables
from spark_jobs.repair.find.plan import new_id
from spark_jobs.repair.manifest import approve, read_manifest
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.spec import Aggregate, Latest, Pipeline, Ranges, Session
from spark_jobs.storage import failpoint
from spark_jobs.values.spans import Span
from tests.harness.command import sluice
from tests.harness.compare import assert_same
from tests.harness.crash import over
from tests.harness.long_form import LONG
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_retention import remove_before
from tests.spark.told import asking, fates
from tests.unit.checkpoints import Alone
from tests.unit.specs import deduplicate, pipeline, topic

pytestmark = alike("records that were put aside come back")

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
BAD = "header['version'] = '2.3' AND 1000 div (amount - 50) <> 7"
"""Of the release all, but for the records with an amount of 50, on which it fails."""
IS_BAD = "version = '2.3' AND amount <> 50"
"""The same for DuckDB: no whole number of sales gives 7."""
ANY = Span(START, START + 100 * HOUR)


class Releases:
    """A topic of sales by two releases, and what was sent."""

    def __init__(self, kafka: str, folder: Path, *specs: Pipeline, seed: int = 1) -> None:
        self.seed = random.Random(seed)
        first = Scene(kafka, folder, specs[0], partitions=2, stores=1)
        create_topic(kafka, first.topic, 2)
        self.scenes = [first, *(self._beside(first, each) for each in specs[1:])]
        self.producer = Producer({"bootstrap.servers": kafka})
        self.sent: list[dict[str, Any]] = []
        self.offsets = [0, 0]

    def _beside(self, first: Scene, spec: Pipeline) -> Scene:
        made = over(first, Path(first.settings.root), spec)
        state = spec.state.model_copy(update={"shuffle_partitions": 1})
        made.change(state=state, output_checks=(), state_checks_off=("nothing_accepted",))
        return made

    def send(
        self, count: int, hours: tuple[float, float], *, share: float = 0.4, twice: bool = True
    ) -> None:
        """Sales with event times between these hours, some of them sent twice."""
        for _ in range(count):
            at = START + self.seed.uniform(*hours) * HOUR
            number = self.seed.randrange(10_000)
            row = {
                "id": f"{len(self.sent)}-{number}",
                "at": at.isoformat(timespec="microseconds"),
                "shop": self.seed.choice("abc"),
                "amount": self.seed.choice([50, *range(60, 100, 7)]),
            }
            for _copy in range(1 + (twice and self.seed.random() < 0.2)):
                self.produce(row, "2.3" if self.seed.random() < share else "2.2")
        self.producer.flush()

    def produce(self, row: dict[str, Any], version: str) -> None:
        partition = self.seed.randrange(2)
        name = self.scenes[0].topic
        headers = [("version", b"0"), ("version", version.encode())]
        self.producer.produce(name, json.dumps(row), partition=partition, headers=headers)
        place = {"partition": partition, "offset": self.offsets[partition]}
        self.offsets[partition] += 1
        self.sent.append(row | place | {"version": version})

    def drain(self, name: str) -> None:
        for each in self.scenes:
            each.run(name)

    @property
    def readers(self) -> list[Reader]:
        return [Reader(each.spec, each.settings) for each in self.scenes]

    def look(self) -> Excision | None:
        self.said = list[str]()
        wanted = Excision(
            id=new_id(), topic=self.scenes[0].topic, where=BAD, start=ANY.start, end=ANY.end,
            reason="sent cents", who="ana", at=datetime.now(UTC), topic_id="", records=0,
            places={}, slots=(),
        )  # fmt: skip
        return look(self.readers, wanted, 1_000_000, self.said.append, self._ask)

    def _ask(self, name, where, question):
        """In this process, in place of spark-submit's."""
        [spec] = (each.spec for each in self.scenes if each.spec.name == name)
        return asking(spec, where)(question)

    def asked(self, sql: str, where: str = "true") -> list[dict[str, Any]]:
        """What DuckDB makes of the records for which this holds."""
        rows = [row | {"at": datetime.fromisoformat(row["at"])} for row in self.sent]
        every = pa.Table.from_pylist(rows)
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("sent", every)
            return db.sql(sql.format(where=where)).to_arrow_table().to_pylist()


def excised(made: Scene, kind: str = "excise", **asked: Any) -> str | None:
    """Its repair, once a person has agreed; None if there was nothing to do."""
    plan = plan_repair(made.spec, made.settings, Request(kind=kind, **asked))
    if plan.idle:
        return None
    plan.store(made.paths)
    report = stage(made.spec, made.settings, f"run-{plan.repair_id}", plan.repair_id, kind=kind)
    assert report.status == "succeeded", report.problem
    assert report.change.unexplained == 0, report.change
    assert report.change.unaccounted == 0
    if not read_manifest(made.paths, plan.repair_id).approved:
        approve(made.paths, plan.repair_id, "ana")
    swap(made.spec, made.settings.root, plan.repair_id, "swap")
    return plan.repair_id


def verified(made: Scene, **asked: Any) -> None:
    plan = plan_repair(made.spec, made.settings, Request(kind="verify", **asked))
    plan.store(made.paths)
    report = stage(made.spec, made.settings, "run-verify", plan.repair_id, kind="verify")
    assert report.status == "succeeded", (report.problem, report.change)


HOURLY = """
    SELECT date_trunc('hour', "at") AS window_start, shop, count(*) AS sales,
        CAST(sum(amount) AS BIGINT) AS turnover
    FROM (SELECT DISTINCT id, "at", shop, amount FROM sent WHERE {where})
    WHERE "at" < TIMESTAMPTZ '2026-01-01 00:00:00Z' + INTERVAL {hours} HOUR GROUP BY 1, 2
"""
"""Both copies of a record have one event time."""


def held_against_duckdb(releases: Releases, hours: int, where: str, number: int = 0) -> None:
    """The rows of windows that begin in these hours are DuckDB's over such records."""
    made, names = releases.scenes[number], ("window_start", "shop", "sales", "turnover")
    wanted = releases.asked(HOURLY.replace("{hours}", str(hours)), where)
    found = [{name: row[name] for name in names} for row in made.table()]
    before = START + hours * HOUR
    final = [row for row in found if row["window_start"].replace(tzinfo=UTC) < before]
    assert len(wanted) > 5
    assert_same(final, wanted, f"the rows of {hours} hours where {where}")


def balanced(made: Scene) -> None:
    """Each record that was read is in the account of its batch, and each that was left out is in
    ops.quarantine once.
    """
    own = {name: [row for row in made.ops(name) if row["pipeline"] == made.spec.name]
           for name in ("batches", "quarantine")}  # fmt: skip
    assert all(row["unaccounted"] in {0, None} for row in own["batches"])
    kept = [(row["partition"], row["offset"], row["element"]) for row in own["quarantine"]]
    assert len(kept) == len(set(kept))


def test_a_bad_release_is_taken_out_and_a_replay_brings_it_back(kafka, tmp_path):
    releases = Releases(kafka, tmp_path, pipeline())
    [made] = releases.scenes
    releases.send(120, (0, 6))
    releases.drain("first")
    releases.send(40, (7, 9))
    releases.drain("second")
    releases.send(20, (8, 9))  # not drained yet
    held_against_duckdb(releases, 6, "true")

    looked = releases.look()
    bad = releases.asked("SELECT * FROM sent WHERE {where}", IS_BAD)
    assert looked.records == len(bad)
    told = [*effect(releases.readers[0], looked)]
    assert any("waiting" in line for line in told)
    assert any("Deduplicate" in line for line in told)
    keep(made.paths.root, looked)
    assert taken_over(made.spec, made.paths, "ana")
    repair = excised(made)
    held_against_duckdb(releases, 6, f"NOT ({IS_BAD})")
    balanced(made)
    assert excised(made) is None, "what drains still write waits"

    # What was not drained yet comes as malformed; windows that have closed are repaired.
    releases.send(30, (12, 13), share=0)
    releases.drain("third")
    held_against_duckdb(releases, 6, f"NOT ({IS_BAD})")
    assert excised(made, "repair")
    held_against_duckdb(releases, 10, f"NOT ({IS_BAD})")
    balanced(made)
    reasons = [row["reason"] for row in made.ops("quarantine")]
    assert len(reasons) == len(bad)
    assert all(looked.id in reason for reason in reasons)
    assert releases.look() is None, "all are excised already"

    undo(made.spec, made.settings.root, repair, "undo")
    held_against_duckdb(releases, 6, "true")
    assert excised(made)
    held_against_duckdb(releases, 10, f"NOT ({IS_BAD})")

    assert excised(made, "replay") is None, "without its reason"
    assert excised(made, "replay", reason="sent cents")
    held_against_duckdb(releases, 10, "true")
    balanced(made)
    verified(made, start=START, end=START + 10 * HOUR)
    assert excised(made) is None

    another_has_what_was_replayed(releases, looked)


def another_has_what_was_replayed(releases: Releases, ended: Excision) -> None:
    [made] = releases.scenes
    end(made.paths.root, ended.topic, ended.id, "ana")
    taken_over(made.spec, made.paths, "ana")
    again = releases.look()
    assert again.records == ended.records
    keep(made.paths.root, again)
    assert taken_over(made.spec, made.paths, "ana")
    assert excised(made)
    held_against_duckdb(releases, 10, f"NOT ({IS_BAD})")
    balanced(made)
    assert excised(made, "replay") is None, "without its reason"
    what_has_expired_a_backfill_puts_there_again(releases)


def what_has_expired_a_backfill_puts_there_again(releases: Releases) -> None:
    """Retention has emptied ops.quarantine before the replay."""
    [made] = releases.scenes
    ops_tables.remove(made.paths.root, "quarantine", "true", Alone())
    assert excised(made, "replay", reason="sent cents") is None
    assert excised(made, "backfill", start=START, end=START + 10 * HOUR)
    held_against_duckdb(releases, 10, f"NOT ({IS_BAD})")
    balanced(made)
    assert excised(made, "replay", reason="sent cents")
    held_against_duckdb(releases, 10, "true")
    balanced(made)


class Lists(Releases):
    """Values with two sales: one as it comes, and one that no condition holds for."""

    def produce(self, row: dict[str, Any], version: str) -> None:
        partition = self.seed.randrange(2)
        items = [row, row | {"id": f"{row['id']}+", "amount": 50}]
        headers = [("version", version.encode())]
        value = json.dumps({"items": items})
        self.producer.produce(self.scenes[0].topic, value, partition=partition, headers=headers)
        self.sent += [each | {"version": version} for each in items]


def test_of_a_value_with_many_records_some_are_taken_out_and_brought_back(kafka, tmp_path):
    releases = Lists(kafka, tmp_path, pipeline(topic=topic(each="items[]")))
    [made] = releases.scenes
    releases.send(40, (0, 6), twice=False)
    releases.drain("first")
    releases.send(20, (7, 9), share=0)
    releases.drain("second")
    releases.send(10, (8, 9))  # not drained yet
    looked = releases.look()
    bad = releases.asked("SELECT DISTINCT ON (id) * FROM sent WHERE {where}", IS_BAD)
    assert looked.each == "items[]"
    assert len(bad) <= looked.records < len(releases.sent) / 2
    keep(made.paths.root, looked)
    assert taken_over(made.spec, made.paths, "ana")
    assert excised(made)
    held_against_duckdb(releases, 6, f"NOT ({IS_BAD})")
    verified(made, start=START, end=START + 6 * HOUR)
    releases.send(10, (12, 13), share=0)
    releases.drain("third")
    held_against_duckdb(releases, 6, f"NOT ({IS_BAD})")
    balanced(made)
    kept = [row for row in made.ops("quarantine") if looked.id in row["reason"]]
    assert len(kept) == looked.records
    assert {row["element"] for row in kept} == {0}
    assert releases.look() is None, "all are excised already"
    assert excised(made, "replay", reason="sent cents")
    held_against_duckdb(releases, 6, "true")
    verified(made, start=START, end=START + 6 * HOUR)
    remove_before(made, 0, 3)
    releases.look()
    assert any("gone            up to 3 of these" in line for line in releases.said)


GAP = timedelta(minutes=10)
SESSIONS = """
    WITH placed AS (SELECT shop, "at", CASE WHEN "at" - lag("at") OVER of_shop <= INTERVAL 10 MINUTE
        THEN 0 ELSE 1 END AS begins FROM sent WHERE {where}
        WINDOW of_shop AS (PARTITION BY shop ORDER BY "at")),
    numbered AS (SELECT *, sum(begins) OVER (PARTITION BY shop ORDER BY "at") AS n FROM placed)
    SELECT shop, min("at") AS window_start, max("at") + INTERVAL 10 MINUTE AS window_end,
        count(*) AS sales FROM numbered GROUP BY shop, n
"""
NEWEST = """
    SELECT shop, arg_max(id, ("at", id)) AS id, max("at") AS "at" FROM sent WHERE {where}
    GROUP BY shop
"""
FINAL = START + 12 * HOUR


class Two:
    """Sessions of a topic, and the newest sale of each shop."""

    def __init__(self, kafka: str, folder: Path, seed: int, cuts: list[int]) -> None:
        """`cuts`: how many records each run drains; the newest of a shop are of the release."""
        of = Aggregate(window=Session(gap=GAP), keys=("shop",), measures={"sales": "count(*)"})
        self.releases = Releases(
            kafka,
            folder,
            pipeline(steps=(deduplicate(), of), ranges=Ranges(context="20 hours")),
            pipeline(name="sales_now", steps=(Latest(keys=("shop",), order_by=("at", "id")),)),
            seed=seed,
        )
        for number, cut in enumerate(cuts):
            self.releases.send(cut, (0, 6), twice=False)
            self.releases.drain(f"run-{number}")
        self.releases.send(20, (40, 41), share=0, twice=False)
        last = max(self.releases.sent, key=lambda row: row["at"])
        newest = {"id": "newest", "at": (START + 42 * HOUR).isoformat()}
        self.releases.produce(last | newest, "2.3")
        self.releases.producer.flush()
        self.releases.drain("last")

    @property
    def scenes(self) -> list[Scene]:
        return self.releases.scenes

    def are(self, made: Scene, where: str) -> bool:
        """Whether its table is DuckDB's over such records."""
        try:
            self.hold(made, where)
        except AssertionError:
            return False
        return True

    def hold(self, made: Scene, where: str) -> None:
        sql, last = (NEWEST, None) if made.spec.keyed else (SESSIONS, "window_end")
        wanted = [r for r in self.releases.asked(sql, where) if last is None or r[last] <= FINAL]
        found = [{name: row[name] for name in wanted[0]} for row in made.table()]
        found = [row for row in found if last is None or row[last] <= FINAL]
        assert_same(found, wanted, f"{made.spec.name} where {where}")

    def excise(self) -> None:
        """What `sluice excise --execute` does behind its note, as often as it is given."""
        for each in self.scenes:
            if taken_over(each.spec, each.paths, "ana"):
                excised(each)


class Killed(BaseException):
    """No `except Exception` sees it, as SIGKILL."""


POINTS = ("change.begun", "change.stepped", "staging", "staged", "staged.judged", "swap.leased",
          "swap.committed", "swap.recorded")  # fmt: skip
MOST = 5
"""How often one command passes a point of a change: its two steps, and those of a swap."""


@contextmanager
def killed_at(point: str, times: int) -> Iterator[None]:
    """Within the block, whoever passes the point so often dies there; nobody else does."""
    passed = count(1)

    def die() -> None:
        if next(passed) == times:
            raise Killed(point)

    failpoint.ACTIVE[point] = die
    try:
        yield
    except Killed:
        pass
    finally:
        failpoint.ACTIVE.clear()


EVERY = [(point, times) for point in POINTS for times in range(1, MOST * 2 + 1)]


def where_says_so(made: Scene, bad: list[dict[str, Any]]) -> None:
    """Their batch accepted them, and no row has them."""
    told = fates(made.spec, made.settings, [(row["partition"], row["offset"]) for row in bad])
    accepted = [each for each in told.values() if each.became == "accepted"]
    assert accepted
    assert all(any("sent cents" in why for why in each.untold) for each in accepted)
    assert not any(each.rows for each in accepted)


KILLS = st.lists(st.sampled_from(EVERY), min_size=3, max_size=3)


@settings(
    max_examples=2 if LONG else 1, deadline=None, database=None, phases=(Phase.generate,),
    suppress_health_check=[*HealthCheck],
)  # fmt: skip
@given(
    seed=st.integers(0, 2**31),
    cuts=st.lists(st.integers(10, 40), min_size=1, max_size=2),
    kills=st.just(EVERY) if LONG else KILLS,
)
def test_killed_anywhere_it_ends_with_both_tables_and_a_replay_gives_those_of_before(
    kafka, tmp_path_factory, seed, cuts, kills
):
    """Killed also between the two pipelines: each has then all of it, or nothing yet."""
    two = Two(kafka, tmp_path_factory.mktemp("two"), seed, cuts)
    excised(two.scenes[0], "repair")
    for each in two.scenes:
        two.hold(each, "true")
    looked = two.releases.look()
    assert looked.records == len(two.releases.asked("SELECT * FROM sent WHERE {where}", IS_BAD))
    keep(two.scenes[0].paths.root, looked)
    without = f"NOT ({IS_BAD})"
    for point, times in kills:
        with killed_at(point, times):
            two.excise()
        for each in two.scenes:
            balanced(each)
            assert two.are(each, "true") or two.are(each, without), (point, times)
    two.excise()
    for each in two.scenes:
        assert excised(each) is None
        two.hold(each, without)
        balanced(each)
        where_says_so(each, two.releases.asked("SELECT * FROM sent WHERE {where}", IS_BAD))
    verified(two.scenes[1], keys="true")
    for each in two.scenes:
        assert excised(each, "replay", reason="sent cents")
        two.hold(each, "true")
        balanced(each)


OF_A_TOPIC = """
from tests.unit.specs import pipeline

SPEC = pipeline()
SPEC = SPEC.model_copy(update={{
    "name": {name!r}, "topic": SPEC.topic.model_copy(update={{"name": {topic!r}}}),
    "state": SPEC.state.model_copy(update={{"shuffle_partitions": 1}}),
    "state_checks_off": ("nothing_accepted",), "output_checks": (),
}})
"""


def test_the_command_is_killed_between_two_pipelines_and_given_again(kafka, tmp_path):
    """As a person gives it: by spark-submit, in processes of their own."""
    releases = Releases(kafka, tmp_path, pipeline(), pipeline(name="sales_too"))
    package = f"deployed_{uuid.uuid4().hex[:6]}"
    for made in releases.scenes:
        at = tmp_path / package / made.spec.name / "spec.py"
        at.parent.mkdir(parents=True)
        at.write_text(OF_A_TOPIC.format(name=made.spec.name, topic=made.topic))
    releases.send(80, (0, 6))
    releases.drain("first")
    releases.send(20, (7, 9), share=0)
    releases.drain("second")
    made = releases.scenes[0]

    def given(*words: str, **variables: str):
        topic = ("excise", "--topic", made.topic)
        return sluice(made, package, *topic, *words, beside=tmp_path, **variables)

    where = ("--where", BAD, "--from", "2026-01-01", "--reason", "sent cents")
    killed = given(*where, "--execute", "--yes", SLUICE_FAILPOINTS="swap.recorded=exit")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    held_against_duckdb(releases, 6, f"NOT ({IS_BAD})")
    held_against_duckdb(releases, 6, "true", 1)
    done = given("--execute", "--yes")
    assert done.returncode == 0, done.stderr
    for number, each in enumerate(releases.scenes):
        held_against_duckdb(releases, 6, f"NOT ({IS_BAD})", number)
        balanced(each)
    assert given("--execute", "--yes").returncode == 0
