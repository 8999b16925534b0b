"""Two topics joined: orders and their payments, in whatever runs, by DuckDB."""

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st

from spark_jobs.proof.acts import acted
from spark_jobs.proof.cases import Act, Record
from spark_jobs.proof.records import send
from spark_jobs.proof.scratch import Scratch
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Deduplicate, Field, Join, Pipeline, State, Topic
from tests.harness.long_form import LONG

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
END = 6000
"""Minutes behind all others: by it they are final."""
DELAY, BEGIN, UNTIL = 30, -10, 20
HOW = ("left", "inner")
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
    made = Scratch.of(spec, Settings.from_environment(), folder, 1)
    off = {*made.spec.state_checks_off} - {"unaccounted", "groups_unaccounted"}
    changes = {"state_checks_off": tuple(sorted(off))}
    return made._replace(spec=made.spec.model_copy(update=changes))


def put(scratch: Scratch, sides: Sides) -> None:
    for number, (of, rows, names) in enumerate(zip(scratch.topics, sides, PARTS, strict=True)):
        values = (dict(zip(names, (r[0], f"{NINE + timedelta(minutes=r[1])}", r[2]), strict=True)) for r in rows)  # fmt: skip
        send(of, [Record(value=value, topic=scratch.topics[number].name) for value in values])


def run(scratch: Scratch, *acts: str) -> Scratch:
    for act in acts:
        number = len(list(scratch.paths.root.glob("*")))
        scratch = acted(scratch, Act.model_validate(act), f"{act}-{number}".replace(" ", "-"))
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
    orders = draw(st.lists(st.builds(Order, KEYS, TIMES, st.integers(1, 3)), min_size=4, max_size=12))
    payments = [Order(key, draw(TIMES), 7) for key in "abc" if draw(st.integers(0, 3))]
    sent: list[Sides] = [([], []) for _ in range(4)]
    for side, rows in enumerate((orders, payments)):
        for row in rows:
            for number in draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)):
                sent[number][side].append(row)
    jump = draw(st.integers(0, 3))
    for rows in sent[jump]:
        rows.append(Order("jump", 400, 1))
    return sent


@pytest.mark.parametrize("how", HOW)
def test_drains_and_repairs_give_what_one_query_over_all_records_gives(spark, how, tmp_path_factory):
    @settings(
        max_examples=25 if LONG else 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(deliveries(), st.sampled_from(["kill planned", "kill table.committed"]), st.integers(0, 3))
    def tried(sent: list[Sides], kill: str, at: int) -> None:
        # hypothesis begins with the simplest case there is, which says little.
        assume(any(row.at == 400 for rows in sent[:3] for row in rows[0]))
        assume(len(sent[1][1]) > 1 and len(sent[3][0]) > 1 and any(sent[at]))
        scratch = scratch_of(joined(how), tmp_path_factory.mktemp("join"))
        for number, sides in enumerate(sent):
            put(scratch, sides)
            scratch = run(scratch, *([kill, "drain"] if number == at and any(sides) else ["drain"]))
        scratch = close(scratch)
        everything = [{row for sides in sent for row in sides[side]} for side in (0, 1)]
        lost = late(scratch)
        assert scratch.counts()["late"] == sum(map(len, lost))
        accepted = [
            {row for row, n in counted(sent, side).items() if n > lost[side].count(row)}
            for side in (0, 1)
        ]
        assert table(scratch) == wanted(how, *accepted)
        if any(lost):
            scratch = run(scratch, "repair")
            assert table(scratch) == wanted(how, *everything)

    tried()


def counted(sent: list[Sides], side: int) -> dict[Order, int]:
    found: dict[Order, int] = {}
    for sides in sent:
        for row in sides[side]:
            found[row] = found.get(row, 0) + 1
    return found
