"""What 15 days of drains leave: two pipelines, by the writers that drains use, without Spark."""

import json
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, Final

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report, StateUse
from spark_jobs.messages.state_answer import (
    Expiring,
    Expiry,
    KeySizes,
    LargeKey,
    Power,
    StateAnswer,
    StepAnswer,
    VariableAnswer,
)
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.schema import Row
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.manifest import Manifest
from spark_jobs.repair.swap import described
from spark_jobs.runs.run_record import append_row
from spark_jobs.spec import Check
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Position, Span
from tests.unit.checkpoints import begin, commit_batch, plan_batch

EVERY: Final = timedelta(hours=6)
DAY: Final = timedelta(days=1)
GENERATION: Final = "20261101T060000-7c1d"
BROKEN: Final = "flights"
"""The column whose check the last run fails."""


class History:
    """Of one pipeline: a run every six hours, of one batch."""

    def __init__(self, root: Path, name: str, runs: int, *, growth: int, fails: bool) -> None:
        """State grows by `growth` a run, the last run `fails`, one at two thirds has no broker."""
        self.spec, self.paths = registry.load(name), Paths(str(root), registry.load(name))
        self.name, self.root, self.runs, self.growth, self.fails = name, root, runs, growth, fails
        self.last = runs - 1
        self.random = Random(name)
        newest = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - DAY / 24
        self.began = [newest - EVERY * (self.last - place) for place in range(runs)]
        self.unreached = runs * 2 // 3
        self.reads = [
            9_000 + 2_500 * (place % 4) + self.random.randrange(900) for place in range(runs)
        ]
        self.late = [row for place in range(runs) for row in self._late(place)]
        self.bad = [row for place in range(runs) for row in self._bad(place)]

    def run_id(self, place: int) -> str:
        return f"scheduled__{self.began[place]:%FT%T}+00:00-try1"

    def watermark(self, place: int) -> datetime:
        return self.began[place] - timedelta(hours=2, minutes=7 + 37 * place % 50)

    def write(self) -> None:
        self.paths.ensure_writable()
        for place in range(self.runs):
            append_row(self._report(place), str(self.root))
        drained = [place for place in range(self.runs) if place != self.unreached]
        checks = [
            self._own(place) | {"checked_at": self.began[place] + timedelta(seconds=19)}
            | check.model_dump()
            for place in drained
            for check in self._checks(place)
        ]  # fmt: skip
        for table, rows in {
            "batches": [self._batch(place) for place in range(self.runs)],
            "slices": [self._slice(place) for place in range(self.runs)],
            "late": self.late,
            "quarantine": self.bad,
            "checks": checks,
        }.items():
            if rows:
                ops_tables.append(self.paths.root, table, rows)
        self._checkpoint()

    def repair(self, repair_id: str, state: repairs.State, days: range, who: str) -> None:
        """Of these days; a swapped one has used their late records, a staged one waits."""
        first = self.began[0].replace(hour=0)
        span = Span(first + DAY * days.start, first + DAY * days.stop)
        made = Manifest(
            repair_id=repair_id,
            pipeline=self.name,
            generation=GENERATION,
            kind="repair",
            spans=(span,),
            differing=(span,),
            position=Position("window_end", "end"),
            table_id="t",
            table_version=self.last,
            changed=41,
            approval="not needed" if state == "swapped" else "needed",
        )
        own = {"pipeline": self.name, "generation": GENERATION, "repair_id": repair_id}
        ended = self.began[self.last - 2]
        row = own | described(made) | {"state": state, "request": json.dumps({"who": who})}
        row |= {"table_version": self.last, "staged_at": ended}
        if state == "swapped":
            row["swapped_at"] = ended
            used = [each for each in self.late if span.start <= each["event_time"] < span.end]
            rows = [
                own
                | {"topic_id": "t", "partition": each["partition"], "offset": each["offset"]}
                | {"source": "late", "fate": "merged", "position": each["event_time"]}
                for each in used
            ]
            repairs.put_merged(self.paths.root, self.name, repair_id, rows)
        else:
            folder = self.paths.staging(repair_id)
            folder.mkdir(parents=True)
            made.write(folder / "manifest.json")
        repairs.put(self.paths.root, [row])

    @cached_property
    def accounts(self) -> list[Account]:
        """Of each batch: every record of ops.late and ops.quarantine is counted in it."""
        return [self._account(place) for place in range(self.runs)]

    @cached_property
    def state_rows(self) -> list[int]:
        """After each batch."""
        return [
            21_000 + self.growth * place + self.random.randrange(1 + self.growth // 4)
            for place in range(self.runs)
        ]

    def offset(self, place: int) -> int:
        """The offset of partition 0 at which a batch begins."""
        return sum(self.reads[:place])

    def _account(self, place: int) -> Account:
        read = self.reads[place]
        late = sum(row["batch_id"] == place for row in self.late)
        bad = sum(row["batch_id"] == place for row in self.bad)
        filtered = read * 49 // 100 if self.spec.steps[0].kind == "transform" else 0
        accepted = read - late - bad - filtered
        duplicates = accepted * self.random.randrange(2, 9) // 100
        return Account(
            covered=read,
            read=read,
            malformed=bad,
            filtered=filtered,
            late=late,
            accepted=accepted,
            duplicates=duplicates,
            rows_out=(accepted - duplicates) // (5 if filtered else 1),
        )

    def _own(self, place: int) -> Row:
        run_id = self.run_id(place + (place == self.unreached))
        return {"pipeline": self.name, "generation": GENERATION, "run_id": run_id}

    def _batches(self, place: int) -> tuple[int, ...]:
        """What a run accounted for: the one behind the run that found no broker does its batch too."""
        return (place - 1, place) if place - 1 == self.unreached else (place,)

    def _report(self, place: int) -> Report:
        batches, checks = self._batches(place), self._checks(place)
        account = sum((self.accounts[each] for each in batches), Account())
        common: dict[str, Any] = {
            "pipeline": self.name,
            "run_id": self.run_id(place),
            "started_at": self.began[place],
            "generation": GENERATION,
        }
        if place == self.unreached:
            return Report(
                **common,
                status="failed",
                ended_at=self.began[place] + timedelta(seconds=9),
                problem=Problem(
                    code="KAFKA_UNREACHABLE",
                    what="no broker of kafka:9092 answers within 7 s.",
                    remedy="Start it, or correct SLUICE_KAFKA.",
                ),
                seconds={"settle": 7.2},
            )
        failed = [check for check in checks if check.outcome == "failed"]
        return Report(
            **common,
            status="failed" if failed else "succeeded",
            ended_at=self.began[place] + timedelta(seconds=21),
            problem=Problem(
                code="CHECK_FAILED",
                what=f"critical checks failed for table version {place}: {failed[0].name}. Rows "
                "are written, not published.",
                remedy=f"See the rows: sluice show checks {self.name}.",
            )
            if failed
            else None,
            batches=batches,
            offsets_start={"0": self.offset(batches[0])},
            offsets_end={"0": self.offset(place + 1)},
            account=account,
            state=StateUse(rows=self.state_rows[place]),
            watermark=self.watermark(place),
            checks=checks,
            table_version=place,
            query_seconds=6.5 + account.read / 4_000,
            seconds={
                "settle": 0.6,
                "start": 3.1 + self.random.random(),
                "query": 6.5 + account.read / 4_000,
                "audit": 1.2 + self.random.random() / 2,
                "checks": 2.0 + self.random.random(),
            },
        )

    def _checks(self, place: int) -> tuple[CheckResult, ...]:
        output = [self._check("output", check, place) for check in self.spec.output_checks]
        state = [self._check("state", check, place) for check in state_checks_of(self.spec)]
        return (*output, *state)

    def _check(self, suite: Any, check: Check, place: int) -> CheckResult:
        column = check.columns[0] if check.columns else None
        fails = self.fails and place == self.last and column == BROKEN
        fails = fails and check.type == "expect_column_values_to_be_between"
        account = self.accounts[place]
        observed = {
            "malformed_share": f"{account.malformed / account.read:.5f}",
            "late_share": f"{account.late / account.read:.5f}",
            "watermark_lag_seconds": str(7_620 + 60 * (place % 5)),
            "state_bytes": str(120 * self.state_rows[place]),
        }.get(column or "", "0")
        return CheckResult(
            suite=suite,
            type=check.type,
            column=column,
            severity=check.severity,
            outcome="failed" if fails else "passed",
            about=check.about,
            observed=observed if suite == "state" else "",
            unexpected=3 if fails else 0,
            sample="[214, 0, 231]" if fails else "",
        )

    def _batch(self, place: int) -> Row:
        rows = self.state_rows[place]
        return (
            self._own(place)
            | self.accounts[place].row()
            | {
                "batch_id": place,
                "audited_at": self.began[place] + timedelta(seconds=15),
                "seconds": 5.0,
                "source": "progress",
                "watermark": self.watermark(place),
                "offsets_start": json.dumps({"0": self.offset(place)}),
                "offsets_end": json.dumps({"0": self.offset(place + 1)}),
                "state_rows": rows,
                "state_bytes": rows * 120,
                "table_version": place,
                "operators": [
                    {"step": 1, "kind": "deduplicate", "numRowsTotal": rows - 2_000}
                    | {"memoryUsedBytes": 0, "rocksdbSstFileSize": 100 * rows},
                    {"step": 2, "kind": "aggregate", "numRowsTotal": 2_000}
                    | {"memoryUsedBytes": 20 * rows, "rocksdbSstFileSize": 0},
                ],
            }
        )

    def _slice(self, place: int) -> Row:
        return self._own(place) | {
            "batch_id": place,
            "partition": 0,
            "records": self.accounts[place].read,
            "late": 0,
            "first_offset": self.offset(place),
            "last_offset": self.offset(place + 1) - 1,
            "first_event_time": self.watermark(place) - EVERY,
            "last_event_time": self.watermark(place),
        }

    def _record(self, place: int, number: int, at: datetime) -> Row:
        event = {
            "event_id": f"{place}-{number}",
            "event_type": "departure",
            "event_time": f"{at:%FT%TZ}",
            "scheduled_time": f"{at:%FT%H}:00:00Z",
            "carrier": "UA",
            "flight": 1545,
            "tail_number": "N14228",
            "origin": "EWR",
            "destination": "IAH",
            "delay_minutes": at.minute,
            "cancelled": False,
            "distance_miles": 1400,
        }
        return self._own(place) | {
            "batch_id": place,
            "topic": self.spec.topic.name,
            "partition": 0,
            "offset": self.offset(place) + 31 * number,
            "kafka_timestamp": self.began[place] - timedelta(minutes=31, seconds=number),
            "key": b"UA",
            "value": json.dumps(event).encode(),
        }

    def _late(self, place: int) -> list[Row]:
        missed = self.watermark(max(place - 1, 0))
        times = [
            missed - timedelta(minutes=self.random.randrange(1, 300))
            for _ in range(self.random.choice((0, 0, 4, 9, 60, 90, 160)) if self.growth else 0)
        ]
        return [
            self._record(place, number, time)
            | {"step": "deduplicate", "watermark_missed": missed, "event_time": time}
            for number, time in enumerate(times)
        ]

    def _bad(self, place: int) -> list[Row]:
        return [
            self._record(place, 200 + number, self.began[place])
            | {
                "kind": "malformed",
                "reason": "field event_time: it is not a timestamp",
                "value": b'{"event_id": "x", "event_time": "yesterday"}',
            }
            for number in range(self.random.choice((0, 1, 1, 2)))
        ]

    def _checkpoint(self) -> None:
        """Every batch is accounted for; that of a run whose check failed is not published."""
        topic = self.spec.topic.name
        spark = begin(Path(str(self.paths.checkpoint)), {0: 0}, topic)
        for place in range(self.runs):
            clock = int(self.watermark(place).timestamp() * 1000)
            plan_batch(spark, place, {0: self.offset(place + 1)}, clock, topic)
            commit_batch(spark, place)
        made = fingerprint(self.spec, version("pyspark"))
        Identity(generation=GENERATION, topic_id="t", fingerprint=made).write(self.paths.identity)
        good = self.last - self.fails
        Cursor(audited=self.last, judged=good).write(self.paths.cursor)
        Published(number=1, table_version=good, batch=good).fix(self.paths)
        total = self.state_rows[self.last]
        rows = tuple((f"{self.last}-{number}", "") for number in range(3))
        variable = VariableAnswer(
            title=f"{total:,} rows", total=total, columns=("event_id", "value"), rows=rows
        )
        StateAnswer(
            generation=GENERATION,
            batch=self.last,
            watermark=self.watermark(self.last),
            read_at=self.began[self.last] + timedelta(minutes=9),
            steps=(self._remembered(variable),),
        ).write(self.paths.state_answer)

    def _remembered(self, variable: VariableAnswer) -> StepAnswer:
        """The keys of the step, of which a few are long, and when they expire."""
        keys, long = variable.total, 40
        due = tuple(
            Expiring(hours=hours, rows=keys // 70 * (1 + hours % 4)) for hours in range(1, 28)
        )
        return StepAnswer(
            step=2,
            kind="deduplicate",
            operator="dedupe",
            partitions=2,
            variables=(variable,),
            sizes=KeySizes(
                columns=("event_id",),
                keys=keys,
                rows=keys,
                bytes=keys * 64 + long * 4_000,
                untimed=None,
                powers=(
                    Power(power=5, keys=keys // 3),
                    Power(power=6, keys=keys - keys // 3 - long),
                    Power(power=12, keys=long),
                ),
                largest=tuple(
                    LargeKey(key=(f"{self.last}-{number:09}-{'x' * number}",), rows=1, bytes=4_200)
                    for number in range(10)
                ),
            ),
            expiry=(
                Expiry(
                    variable="",
                    counted="rows",
                    by="watermark",
                    since=self.watermark(self.last),
                    spans=due,
                    later=0,
                    never=keys - sum(each.rows for each in due),
                ),
            ),
        )


def write(root: Path) -> tuple[History, History]:
    """The pipeline that grows and whose last check failed, and one that is well."""
    grows = History(root, "departure_delays", 60, growth=900, fails=True)
    well = History(root, "flight_events", 20, growth=0, fails=False)
    for each in (grows, well):
        each.write()
    grows.repair("repair-20261112-ana", "swapped", range(1, 9), "ana")
    grows.repair("repair-20261114-ben", "staged", range(11, 12), "ben")
    return grows, well
