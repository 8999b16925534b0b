"""Two topics joined: orders and their payments, in whatever runs, by DuckDB."""

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st
from pyspark.sql import functions as F

from spark_jobs.errors import CaseInvalid, CheckFailed
from spark_jobs.messages.job import Prove, StateQuery
from spark_jobs.proof.acts import acted
from spark_jobs.proof.cases import Act, Record
from spark_jobs.proof.records import send
from spark_jobs.proof.run import prove
from spark_jobs.proof.scratch import Scratch
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.source.place import Place
from spark_jobs.spec import Deduplicate, Field, Join, Pipeline, State, Topic
from spark_jobs.steps.apart import join
from spark_jobs.values.numbering import numbered_in
from tests.harness.long_form import LONG
from tests.harness.refused import fails
from tests.harness.turns import alike
from tests.spark.told import fates

BY_TURNS = alike("a join")
NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
END = 6000
"""Minutes behind all others: by it they are final."""
DELAY, BEGIN, UNTIL = 30, -10, 20
AHEAD = 400
NUMBERS = count(1)
PARTS = ("order_id", "at", "amount"), ("order", "at", "paid")


class Order(NamedTuple):
    key: str | None
    at: int
    """Minutes from NINE."""
    amount: int


Sides = tuple[list[Order], list[Order]]
"""Orders, and payments."""


def topic(name: str, key: str, value: str, *, required: bool) -> Topic:
    fields = (
        Field(name=key, type="string", required=required),
        Field(name="at", type="timestamp"),
        Field(name=value, type="bigint"),
    )
    return Topic(name=name, fields=fields, event_time="at")


def joined(how: str, *, once: bool = True, **changes) -> Pipeline:
    """`once`: copies of either side are dropped."""
    before = {
        "orders": (Deduplicate(keys=("order_id", "at", "amount")),),
        "payments": (Deduplicate(keys=("order",)),),
    }
    step = Join(
        left="orders",
        right="payments",
        on={"order_id": "order"},
        within=(f"{BEGIN} minutes", f"{UNTIL} minutes"),
        how=how,
        before=before if once else {},
        prefix="by_",
    )
    topics = (
        topic("orders", "order_id", "amount", required=False),
        topic("payments", "order", "paid", required=True),
    )
    return Pipeline(
        name="paid_orders",
        about="Orders with their payments.",
        topics=topics,
        watermark_delay=f"{DELAY} minutes",
        steps=(step,),
        state=State(shuffle_partitions=1),
        **changes,
    )


def scratch_of(spec: Pipeline, folder) -> Scratch:
    """Its account is judged, as other pipelines' is."""
    made = Scratch.of(spec, Settings.from_environment(reads=False), folder, 1)
    off = {*made.spec.state_checks_off} - {"unaccounted", "groups_unaccounted"}
    changes = {"state_checks_off": tuple(sorted(off))}
    return made._replace(spec=made.spec.model_copy(update=changes))


def put(scratch: Scratch, sides: Sides) -> None:
    for number, (of, rows, names) in enumerate(zip(scratch.topics, sides, PARTS, strict=True)):
        values = (dict(zip(names, (r[0], f"{NINE + timedelta(minutes=r[1])}", r[2]), strict=True)) for r in rows)  # fmt: skip
        send(of, [Record(value=value, topic=scratch.topics[number].name) for value in values])


def run(scratch: Scratch, *acts: str) -> Scratch:
    for act in acts:
        scratch = acted(scratch, Act.model_validate(act), f"run-{next(NUMBERS)}")
    return scratch


def table(scratch: Scratch) -> list[tuple]:
    """The rows that are final, as DuckDB gives them."""
    rows = scratch.rows()
    found = [] if rows is None else rows.toArrow().to_pylist()

    def minutes(at: datetime | None) -> int | None:
        return None if at is None else round((at - NINE) / timedelta(minutes=1))

    told = [(r["order_id"], minutes(r["at"]), r["amount"], minutes(r["by_at"]), r["by_paid"]) for r in found]  # fmt: skip
    return sorted((row for row in told if row[1] < END), key=str)


def wanted(how: str, orders: set[Order], payments: set[Order]) -> list[tuple]:
    """One computation over all of them."""
    db = duckdb.connect()
    for name, rows in (("o", orders), ("p", payments)):
        db.execute(f"CREATE TABLE {name} (id VARCHAR, t BIGINT, v BIGINT)")
        for row in rows:
            db.execute(f"INSERT INTO {name} VALUES (?, ?, ?)", row)
    within = f"p.t BETWEEN o.t + {BEGIN} AND o.t + {UNTIL}"
    sql = f"SELECT o.*, p.t, p.v FROM o {how} JOIN p ON p.id = o.id AND {within}"
    return sorted((row for row in db.execute(sql).fetchall() if row[1] < END), key=str)


def late(scratch: Scratch) -> Sides:
    found = [json.loads(row["value"]) for row in scratch.query("late", "SELECT value FROM late")]
    sides: Sides = ([], [])
    for value in found:
        side = int("order" in value)
        at = datetime.fromisoformat(value["at"])
        sides[side].append(Order(value.get(PARTS[side][0]), round((at - NINE) / timedelta(minutes=1)), value[PARTS[side][2]]))  # fmt: skip
    return sides


def close(scratch: Scratch) -> Scratch:
    put(scratch, ([Order("end", END, 0)], [Order("end", END, 0)]))
    return run(scratch, "drain")


KEYS = st.sampled_from(["a", "b", "c", None])
TIMES = st.integers(0, 24).map(lambda n: n * 5)


@st.composite
def deliveries(draw) -> list[Sides]:
    """Of each run, which may have records of one topic only; with copies, and in any order. A key's
    payment is one, since by it copies are told.
    """
    orders = draw(
        st.lists(st.builds(Order, KEYS, TIMES, st.integers(1, 3)), min_size=4, max_size=12)
    )
    payments = [Order(key, draw(TIMES), 7) for key in "abc" if draw(st.integers(0, 3))]
    sent: list[Sides] = [([], []) for _ in range(3)]
    for side, rows in enumerate((orders, payments)):
        for row in rows:
            for number in draw(st.lists(st.integers(0, 2), min_size=1, max_size=2)):
                sent[number][side].append(row)
    for rows in sent[draw(st.integers(0, 1))]:
        rows.append(Order("ahead", AHEAD, 1))
    return sent


@BY_TURNS
def test_drains_and_repairs_give_what_one_query_over_all_records_gives(spark, tmp_path_factory):
    @settings(
        max_examples=40 if LONG else 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(
        deliveries(),
        st.sampled_from(["left", "inner"]),
        st.sampled_from(["kill planned", "kill table.committed"]),
        st.integers(0, 2),
    )
    def tried(sent: list[Sides], how: str, kill: str, at: int) -> None:
        # hypothesis begins with the simplest case there is, which says little.
        assume(any(row.at == AHEAD for rows in sent[:2] for row in rows[0]) and any(sent[at]))
        assume(len(sent[1][1]) > 1 and len(sent[2][0]) > 1)
        scratch = scratch_of(joined(how), tmp_path_factory.mktemp("join"))
        for number, sides in enumerate(sent):
            put(scratch, sides)
            scratch = run(scratch, *([kill, "drain"] if number == at else ["drain"]))
        scratch = close(scratch)
        lost = late(scratch)
        assert scratch.counts()["late"] == sum(map(len, lost))
        copies = [Counter(row for sides in sent for row in sides[side]) for side in (0, 1)]
        accepted = [{*(every - Counter(late))} for every, late in zip(copies, lost, strict=True)]
        assert table(scratch) == wanted(how, *accepted)
        assert accounts(scratch, {"unaccounted"}) == {"unaccounted": {0}}
        if any(lost):
            scratch = run(scratch, "repair")
            assert table(scratch) == wanted(how, *map(set, copies))

    tried()


def accounts(scratch: Scratch, names: set[str]) -> dict[str, set]:
    rows = scratch.query("batches", f"SELECT {', '.join(sorted(names))} FROM batches")
    return {name: {row[name] for row in rows} for name in sorted(names)}


FIRST: Sides = (
    [Order("a", 0, 1), Order("a", 0, 1), Order("b", 2, 2), Order(None, 3, 3), Order("d", 24, 4)],
    [Order("a", 10, 7), Order("a", 10, 7), Order("d", 40, 6)],
)
"""The order d is in the range of the late payments below, and its own payment is not."""
ALONE: list[Sides] = [
    ([Order(f"x{n}", 60 * n, 1)], []) if n % 2 else ([], [Order(f"y{n}", 60 * n, 1)])
    for n in range(1, 6)
]
"""Each run has records of one topic."""
LATE: Sides = ([Order("c", 5, 5)], [Order("b", 15, 8), Order("c", 6, 9)])


@BY_TURNS
def test_runs_that_read_one_topic_each_let_unmatched_rows_out_and_each_left_row_is_counted(
    spark, tmp_path
):
    scratch = scratch_of(joined("left"), tmp_path)
    for sides in (FIRST, *ALONE):
        put(scratch, sides)
        scratch = run(scratch, "drain")
    unmatched = [("b", 2, 2, None, None), (None, 3, 3, None, None)]
    assert [row for row in table(scratch) if row[1] < 60] == [
        ("a", 0, 1, 10, 7),
        *unmatched[:1],
        ("d", 24, 4, 40, 6),
        *unmatched[1:],
    ]
    seen_by(scratch)
    put(scratch, LATE)
    scratch = close(scratch)
    rows = scratch.query("batches", "SELECT * FROM batches ORDER BY batch_id")
    assert {row["unaccounted"] for row in rows} == {0}
    of_orders = [json.loads(row["topics"])["orders"] for row in rows]
    assert [sum(of[name] for of in of_orders) for name in ("accepted", "late")] == [9, 1]
    assert sum(row["duplicates"] for row in rows) == 2
    entered, left = (sum(row[name] for row in rows) for name in ("groups_in", "groups_out"))
    assert (entered, left) == (8, 8), "each order but the copy and the late one, once"
    assert sum(dict(row["unmatched"])["payments"] for row in rows) == 5
    [end] = spark.read.format("statestore").option("operatorId", 0).option("joinSide", "left").load(str(scratch.paths.checkpoint)).collect()  # fmt: skip
    assert end["key"][0] == "end"
    judged = "SELECT DISTINCT observed FROM checks WHERE \"column\" = 'groups_unaccounted'"
    assert scratch.query("checks", judged) == [{"observed": "0"}]
    before = table(scratch)
    scratch = run(scratch, "repair")
    every = [{row for sides in (FIRST, *ALONE, LATE) for row in sides[side]} for side in (0, 1)]
    assert table(scratch) == wanted("left", *every) != before
    scratch = run(scratch, "undo")
    assert table(scratch) == before
    batch = len(rows) - 5
    scratch = run(scratch, f"rewind {batch}", "drain", "repair")
    assert table(scratch) == wanted("left", *every)


def seen_by(scratch: Scratch) -> None:
    """`sluice where` and `sluice state` tell both sides' records."""
    right = numbered_in(1, 0)
    asked = [*((0, n) for n in (0, 2, 7)), *((right, n) for n in (0, 3, 4))]
    told = fates(scratch.spec, scratch.settings, [Place(*each) for each in asked])
    rows = {
        place: [(r["order_id"], r["by_paid"]) for r in fate.rows] for place, fate in told.items()
    }
    assert [*rows.values()] == [[("a", 7)], [("b", None)], [], [("a", 7)], [], []]
    waits = [told[asked[n]].why for n in (2, 4, 5)]
    assert waits == [
        "it waits in the state for a row of payments, until 2026-03-01 14:20:00; then it leaves alone",
        "no row of orders found it",
        "it waits in the state for a row of orders, until 2026-03-01 13:10:00",
    ]
    _, *lines = state_view(scratch.spec, scratch.settings, StateQuery(measured=True))
    lines, measured = lines[:6], lines[6:]
    assert [" ".join(line.split()) for line in lines] == [
        "orders: 1 row",
        "order_id at amount",
        "x5 2026-03-01 14:00:00 1",
        "payments: 1 row",
        "order_id by_at by_paid",
        "y4 2026-03-01 13:00:00 1",
    ]
    of_sides = [line for line in measured if "rows expire with the watermark" in line]
    assert [line.partition(":")[0] for line in of_sides] == ["orders", "payments"]
    assert all("1 within" in line for line in of_sides)
    query = StateQuery(keys=("order_id=y4",))
    assert "payments: 1 row" in [*state_view(scratch.spec, scratch.settings, query)]


def times(rows, factor: int):
    """Those of the order a, so many times."""
    n = F.when(F.expr("order_id <=> 'a'"), factor).otherwise(1)
    return rows.withColumn("n", F.explode(F.array_repeat(F.lit(1), n))).drop("n")


def joins(factor: int):
    real = join.outer_joined
    return "outer_joined", lambda *given: times(real(*given), factor)


def loses(_: int):
    real = join.JoinOperator._once  # noqa: SLF001 - where it is broken

    def once(self, rows, name, context):
        kept = real(self, rows, name, context)
        return times(kept, 0) if name == self.step.left else kept

    return "JoinOperator._once", once


@BY_TURNS
@pytest.mark.parametrize(
    ("wrong", "factor", "metric"),
    [(joins, 0, "groups_unaccounted"), (joins, 2, "groups_unaccounted"), (loses, 0, "unaccounted")],
    ids=["lost", "doubled", "lost behind its Deduplicate"],
)
def test_a_left_row_that_a_join_loses_or_doubles_is_unaccounted(spark, tmp_path, monkeypatch, wrong, factor, metric):  # fmt: skip
    name, broken = wrong(factor)
    monkeypatch.setattr(f"{join.__name__}.{name}", broken)
    scratch = scratch_of(joined("inner"), tmp_path)
    put(scratch, FIRST)
    with pytest.raises(CheckFailed) as failed:
        run(scratch, "drain")
    assert f"({metric})" in str(failed.value)


SPEC = """
from spark_jobs.source.place import Place
from spark_jobs.spec import Deduplicate, Field, Join, Pipeline, Topic

ORDERS = Topic(
    name="orders",
    fields=(Field(name="order_id", type="string"), Field(name="at", type="timestamp")),
    event_time="at",
)
PAYMENTS = Topic(
    name="payments",
    fields=(Field(name="order", type="string"), Field(name="at", type="timestamp")),
    event_time="at",
)
SPEC = Pipeline(
    name="paid_orders",
    about="Orders with their payments.",
    topics=(ORDERS, PAYMENTS),
    watermark_delay="1 hour",
    steps=(
        Join(
            left="orders",
            right="payments",
            on={"order_id": "order"},
            within=("-5 minutes", "1 hour"),
            how="left",
            before={"payments": (Deduplicate(keys=("order",)),)},
        ),
    ),
)
"""
CASES = """
cases:
  - name: a late payment is repaired
    given:
      - - {topic: orders, value: {order_id: a, at: 2026-03-01T09:00:00Z}}
        - {topic: orders, value: {order_id: b, at: 2026-03-01T12:30:00Z}}
        - {topic: payments, value: {order: b, at: 2026-03-01T12:31:00Z}}
      - - {topic: payments, value: {order: a, at: 2026-03-01T09:20:00Z}}
    then: [drain, drain, repair]
    expect:
      rows:
        - {order_id: a, payments_at: "2026-03-01T09:20:00Z"}
        - {order_id: b, payments_at: "2026-03-01T12:31:00Z"}
      late: 1
      accepted: 3
"""
NAMELESS = (
    "{name: of no topic, given: [[{order_id: a, at: 2026-03-01T09:00:00Z}]], expect: {late: 0}}"
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A pipeline in a package of its own."""
    folder = tmp_path / "own_joins" / "paid_orders"
    folder.mkdir(parents=True)
    for each in (folder.parent, folder):
        (each / "__init__.py").touch()
    (folder / "spec.py").write_text(SPEC)
    (folder / "tests.yaml").write_text(CASES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(REPO)]))
    monkeypatch.setenv("SLUICE_PIPELINES", "own_joins")
    return folder


@BY_TURNS
def test_the_cases_of_a_join_name_each_records_topic(spark, own):
    settings = Settings.from_environment(reads=False)
    assert [line[:2] for line in prove(Prove(pipelines=("paid_orders",)), None, settings)] == ["ok"]
    (own / "tests.yaml").write_text(f"cases:\n  - {NAMELESS}\n")
    with fails(CaseInvalid, "topic_wrong"):
        list(prove(Prove(pipelines=("paid_orders",)), None, settings))
