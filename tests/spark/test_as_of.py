"""Facts with a dimension as of their time, whatever is drawn: facts and their order, changes, those
that come later for an earlier time, corrected and removed ones, kills; by DuckDB's ASOF JOIN over
the changes.
"""

import json
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st

from spark_jobs.checkpoint.notes.noted_versions import Pinned
from spark_jobs.messages.request import Request
from spark_jobs.proof.acts import acted, image_at
from spark_jobs.proof.cases import Act, Record
from spark_jobs.proof.records import send
from spark_jobs.proof.scratch import Scratch
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.settings.installation import Settings
from spark_jobs.side import pins
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Dimension,
    Field,
    Lookup,
    Pipeline,
    State,
    Topic,
    Tumbling,
)
from spark_jobs.values.spans import MICROSECOND
from tests.harness.long_form import LONG
from tests.harness.turns import alike
from tests.seams.test_marks import outdated

pytestmark = alike("a lookup")

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
TIMES = pa.timestamp("us", "UTC")
ROWS = pa.schema([("buyer", pa.string()), ("since", TIMES), ("until", TIMES), ("segment", pa.string())])  # fmt: skip
VERIFIES = Request(kind="verify", who="test", start=NINE, end=NINE + timedelta(hours=3))
END = 6000
"""Minutes behind all others."""
DELAY = 30
NUMBERS = count(1)
HOUR = Tumbling(size="1 hour")


class Fact(NamedTuple):
    """A record."""

    buyer: str | None
    at: int
    """Minutes from NINE."""


Changes = dict[tuple[str, int], str | None]
"""Buyer and minute -> the segment from then on; None: there is none."""


class Drawn(NamedTuple):
    """What is sent and known before each run."""

    facts: list[list[Fact]]
    versions: list[Changes]
    kills: list[str | None]

    @property
    def sent(self) -> list[Fact]:
        return [fact for some in self.facts for fact in some]


BUYERS, MINUTES = "abc", st.integers(0, 24).map(lambda n: n * 5)
FACTS = st.lists(st.builds(Fact, st.sampled_from([*BUYERS, None]), MINUTES), min_size=1, max_size=8)
CHANGES = st.dictionaries(
    st.tuples(st.sampled_from(BUYERS), MINUTES), st.sampled_from(["x", "y", None]), max_size=4
)
KILLS = st.sampled_from([None, "marked", "planned", "table.committed", "audit"])


@st.composite
def drawn(draw) -> Drawn:
    """Each version has the changes of the one before, of which it may take some back."""
    versions: list[Changes] = []
    for _ in range(4):
        before = versions[-1] if versions else {}
        gone = draw(st.sets(st.sampled_from(sorted(before)), max_size=2)) if before else ()
        kept = {when: to for when, to in before.items() if when not in gone}
        versions.append(kept | draw(CHANGES))
    facts = [draw(FACTS) for _ in range(3)]
    facts[draw(st.integers(0, 1))].append(Fact("c", 150))
    return Drawn(facts, versions, [draw(KILLS) for _ in range(3)])


def spec_of(table: str, form: str) -> Pipeline:
    buyers = Dimension(
        name="buyers",
        table=table,
        key=("buyer",),
        valid=("since", "until"),
        fields=(Field(name="segment", type="string"),),
    )
    topic = Topic(
        name="facts",
        event_time="at",
        fields=(
            Field(name="id", type="bigint"),
            Field(name="buyer", type="string", required=False),
            Field(name="at", type="timestamp"),
        ),
    )
    sums = {"facts": "count(*)", "ids": "sum(id)"}
    behind = {
        "rows": (Deduplicate(keys=("id",)),),
        "groups": (Aggregate(window=HOUR, keys=("buyer", "segment"), measures=sums, counts="facts"),),
    }  # fmt: skip
    return Pipeline(
        name=f"facts_in_{form}",
        about="Facts with the segment of their time.",
        topic=topic,
        watermark_delay=f"{DELAY} minutes",
        steps=(Lookup(dimension=buyers, on={"buyer": "buyer"}), *behind[form]),
        state=State(shuffle_partitions=1),
    )


FOUND = """
    SELECT f.id, f.buyer, f."at", c.segment FROM facts f ASOF LEFT JOIN changes c
    ON c.version = f.version AND c.buyer = f.buyer AND f."at" >= c.since"""
BEHIND = {
    "rows": 'SELECT id, buyer, segment, "at" AS final FROM found',
    "groups": """
        SELECT sum(id)::BIGINT, buyer, segment, ("at" // 60 + 1) * 60 AS final, count(*) FROM found
        GROUP BY buyer, segment, final""",
}


class World:
    """A table in a folder of its own, the dimension, and what was sent."""

    def __init__(self, folder: Path, form: str) -> None:
        self.place, self.form, self.sent = str(folder / "buyers"), form, list[Fact]()
        self.versions = list[Changes]()
        self.scratch = Scratch.of(
            spec_of(self.place, form), Settings.from_environment(reads=False), folder, 1
        )

    def know(self, changes: Changes) -> None:
        """A row lasts up to its buyer's next change."""
        rows: list[dict[str, Any]] = []
        for buyer in BUYERS:
            own = sorted(at for key, at in changes if key == buyer)
            for since, until in pairwise([*own, None]):
                segment = changes[buyer, since]
                if segment is not None:
                    rows.append(dict(zip(ROWS.names, (buyer, moment(since), moment(until), segment), strict=True)))  # fmt: skip
        deltalake.write_deltalake(self.place, pa.Table.from_pylist(rows, ROWS), mode="overwrite")
        self.versions.append(changes)

    def put(self, *facts: Fact) -> None:
        first = len(self.sent)
        values = ({"id": n, "buyer": fact.buyer, "at": str(moment(fact.at))} for n, fact in enumerate(facts, first))  # fmt: skip
        send(self.scratch.topics[0], [Record(value=value) for value in values])
        self.sent += facts

    def does(self, *acts: str) -> None:
        for act in acts:
            self.scratch = acted(self.scratch, Act.model_validate(act), f"run-{next(NUMBERS)}")

    def dies(self, place: str) -> None:
        """At this failpoint, if a drain passes it."""
        root, run_id = Path(self.scratch.settings.root), f"run-{next(NUMBERS)}"
        with image_at(place, root, image := root.with_name(f"root behind {run_id}")):
            self.scratch.drain(run_id)
        if image.exists():
            self.scratch = self.scratch.over(image)

    def verified(self, meanwhile: Changes) -> int:
        """Rows that differ from the newest that is noted, whatever the dimension becomes."""
        made = self.scratch
        plan = plan_repair(made.spec, made.settings, VERIFIES)
        plan.store(made.paths)
        self.know(meanwhile)
        change = stage(made.spec, made.settings, f"run-{next(NUMBERS)}", plan.repair_id).change
        assert change is not None
        assert change.rows_after > 0
        return change.differs

    @property
    def late(self) -> set[int]:
        found = self.scratch.query("late", "SELECT value FROM late")
        assert self.scratch.counts()["late"] == len(found)
        return {json.loads(row["value"])["id"] for row in found}

    @property
    def pins(self) -> list[int]:
        """The version that each fact's batch has, by the checkpoint's notes."""
        folder = self.scratch.paths.checkpoint / "inputs"
        notes = {
            int(file.name): json.loads(file.read_text())["inputs"] for file in folder.iterdir()
        }
        rows = self.scratch.query("batches", "SELECT batch_id, offsets_end FROM batches ORDER BY batch_id")  # fmt: skip
        ends = [(row["batch_id"], json.loads(row["offsets_end"])["0"]) for row in rows]
        batches = [next(batch for batch, end in ends if end > n) for n in range(len(self.sent))]
        noted = [max(each for each in notes if each <= batch) for batch in batches]
        return [notes[each]["buyers"]["version"] for each in noted]

    def wanted(self, versions: list[int], without: set[int] = frozenset()) -> list[tuple]:
        """By DuckDB, with the version of each fact."""
        with duckdb.connect() as db:
            db.execute('CREATE TABLE facts (id BIGINT, buyer VARCHAR, "at" BIGINT, version BIGINT)')
            db.execute("CREATE TABLE changes (version BIGINT, buyer VARCHAR, since BIGINT, segment VARCHAR)")  # fmt: skip
            for n, (fact, version) in enumerate(zip(self.sent, versions, strict=True)):
                if n not in without:
                    db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", (n, *fact, version))
            for version, changes in enumerate(self.versions):
                for (buyer, since), segment in changes.items():
                    db.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", (version, buyer, since, segment))  # fmt: skip
            rows = db.sql(f"WITH found AS ({FOUND}) {BEHIND[self.form]}").fetchall()
        return sorted((row for row in rows if row[3] < END), key=str)

    def rows(self) -> list[tuple]:
        found = self.scratch.rows()
        told = [] if found is None else found.toArrow().to_pylist()
        first, final = ("id", "at") if self.form == "rows" else ("ids", "window_end")
        rows = [
            (row[first], row["buyer"], row["segment"], round((row[final] - NINE) / timedelta(minutes=1)))
            + ((row["facts"],) if self.form == "groups" else ())
            for row in told
        ]  # fmt: skip
        return sorted((row for row in rows if row[3] < END), key=str)

    def hold_marks(self, was: list[tuple], now: list[tuple]) -> None:
        """Open marks have each row in which the two differ, and only rows of marked buyers."""
        differ = {*was} ^ {*now}
        marked = {json.loads(row["key"])["buyer"] for row in self.scratch.query("outdated", "SELECT key FROM outdated")}  # fmt: skip
        spans = [each.span for of in outdated(self.scratch).open for each in of.touching]

        def position(row: tuple) -> datetime:
            return moment(row[3]) - (MICROSECOND if self.form == "groups" else timedelta())

        assert {row[1] for row in differ} <= marked
        for row in differ:
            assert any(s.start <= position(row) < s.end for s in spans), (row, spans)
        if self.form == "rows":
            return
        of_marked = [position(row) for row in was if row[1] in marked]
        assert all(any(s.start <= each < s.end for each in of_marked) for s in spans)


def moment(minutes: int | None) -> datetime | None:
    return None if minutes is None else NINE + timedelta(minutes=minutes)


def play(case: Drawn, form: str, folder: Path) -> World:
    """Up to the repair: each fact has the version that its batch has noted."""
    world = World(folder, form)
    for facts, changes, kill in zip(case.facts, case.versions[:-1], case.kills, strict=True):
        world.know(changes)
        world.put(*facts)
        if kill:
            world.dies(kill)
            world.know(case.versions[-1])
        world.does("drain")
    world.know(case.versions[-1])
    world.put(Fact("end", END))
    world.does("drain")
    late = world.late
    before = world.wanted(world.pins, late)
    assert world.rows() == before, "by the pins"
    newest = [len(world.versions) - 1] * len(world.sent)
    world.hold_marks(before, world.wanted(newest, late))
    return world


@pytest.mark.parametrize("form", [*BEHIND])
def test_facts_have_the_noted_versions_and_behind_a_repair_the_newest(
    spark, tmp_path_factory, form
):
    @settings(
        max_examples=40 if LONG else 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(drawn())
    def tried(case: Drawn) -> None:
        # hypothesis begins with the simplest case there is, which says little.
        assume(any(case.kills) and len(case.sent) > 8)
        assume(all(was != now for was, now in pairwise(case.versions)))
        world = play(case, form, tmp_path_factory.mktemp("as_of"))
        newest = [len(world.versions) - 1] * len(world.sent)
        wanted = world.wanted(newest)
        if world.rows() == wanted:
            return
        world.does("repair")
        assert world.rows() == wanted
        assert world.verified(case.versions[0]) == 0

    tried()


def newest_always(checkpoint, _, spec, settings) -> Pinned:
    """What a run without a note would read."""
    return pins.pin(checkpoint, lambda: -1, spec, settings)


def test_without_the_pin_a_killed_batch_has_rows_of_no_version_that_is_noted(
    spark, tmp_path, monkeypatch
):
    facts = [[Fact("a", 5), Fact("b", 10)], [Fact("a", 15), Fact("a", 20)], [Fact("a", 25)]]
    versions: list[Changes] = [{("a", 0): to} for to in "xyxz"]
    monkeypatch.setattr("spark_jobs.runs.resume.opening.pin", newest_always)
    with pytest.raises(AssertionError, match="by the pins"):
        play(Drawn(facts, versions, [None, "table.committed", None]), "rows", tmp_path)
