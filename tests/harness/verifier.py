"""Verifier: holds what a pipeline wrote against the generator's ledger.

Imports nothing of Sluice, and starts no Spark.

python -m tests.harness.verifier ROOT LEDGER PIPELINE DELAY_SECONDS EVENTS
prints the verdict as JSON; exit status 1 where anything is wrong. EVENTS is a file with the extra
of each asset event as JSON, a line each, in the order in which they were sent.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import pyarrow as pa
from upath import UPath

from local import ledger
from tests.harness import oracle, replay
from tests.harness.announced import announced

Row = dict[str, Any]
ENTERS = {
    "flight_events": "true",
    "departure_delays": "event_type = 'departure'",
    "aircraft_rotations": "event_type = 'departure' AND NOT cancelled AND tail_number IS NOT NULL",
}
"""Which good records reach the pipeline's first stateful step; of one without a watermark, none."""
KEYED = {"aircraft_now"}
"""Those whose table follows a key: it has no row for each record that is written."""
FIRST = 5


class Verdict(NamedTuple):
    """What is wrong, in sentences, and counted: table, late and quarantined records, account."""

    lost: int
    doubled: int
    unaccounted: int
    told: tuple[str, ...]
    read: int
    rows: int
    batches: int
    late: int
    events: int = 0
    twice: int = 0
    """Batches whose account was announced in more than one event."""
    never: int = 0


class Verifier:
    """The tables of one pipeline, read by delta-rs, and the ledger of its topic."""

    def __init__(self, root, ledger_folder, pipeline, delay, events=None) -> None:
        """`delay`: of the watermark, or None. `events` is the file of the asset events; None where
        nothing publishes.
        """
        self._root = str(root)
        self._pipeline = pipeline
        self._delay = delay
        self._events = events
        self._ledger = ledger.read(ledger_folder)
        self._lost = self._doubled = 0
        self._told: list[str] = []

    def verdict(self) -> Verdict:
        """Everything: the table, the late and the quarantined records, the account, the events."""
        batches, rows = self.batches(), self.table()
        self.hold_table()
        ends = [{int(p): o for p, o in json.loads(row["offsets_end"]).items()} for row in batches]
        late = self._late(ends)
        self._hold(
            "late records", ((row["partition"], row["offset"]) for row in self.ops("late")), late
        )
        self._hold_watermark(batches, ends)
        self._hold(
            "quarantined records", map(_kept, self.ops("quarantine")), map(_kept, self._bad())
        )
        if not all(row["reason"] for row in self.ops("quarantine")):
            self._told.append("a quarantined record has no reason")
        self._hold_sums("the account says", batches, len(rows))
        verdict = Verdict(
            self._lost,
            self._doubled,
            sum(row["unaccounted"] or 0 for row in batches),
            (),
            sum(row["read"] for row in batches),
            len(rows),
            len(batches),
            len(late),
        )
        if self._events is not None:
            verdict = self._with_events(verdict, self._events, batches)
        return verdict._replace(told=tuple(self._told))

    def _with_events(self, verdict: Verdict, file: Path, batches: list[Row]) -> Verdict:
        """Each batch's account is in one event, and their sum is the ledger's."""
        events = [json.loads(line) for line in file.read_text().splitlines()]
        found = announced(events, batches)
        self._told.extend(found.told)
        accounts = [event["account"] for event in events]
        self._hold_sums("the events say", [*accounts, *found.left], verdict.rows)
        return verdict._replace(events=len(events), twice=found.twice, never=found.never)

    def _late(self, ends: list[dict[int, int]]) -> set[replay.Place]:
        if self._delay is None:
            return set()
        return set(replay.late(self._ledger, ends, ENTERS[self._pipeline], self._delay))

    def hold_table(self) -> None:
        """The canonical result of all accepted less late records, as far as the last watermark."""
        batches = self.batches()
        if [row["batch_id"] for row in batches] != list(range(len(batches))):
            self._told.append(
                f"ops.batches has not each batch once: {[row['batch_id'] for row in batches]}"
            )
        watermark = (batches[-1]["watermark"] if batches else None) or datetime(
            1970, 1, 1, tzinfo=UTC
        )
        late = {(row["partition"], row["offset"]) for row in self.ops("late")}
        wanted = oracle.RESULTS[self._pipeline](oracle.events(self._ledger, late), watermark)
        self._hold("rows of the table", oracle.comparable(self.table()), oracle.comparable(wanted))

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(self._told)

    def batches(self) -> list[Row]:
        """ops.batches, in their order."""
        return sorted(self.ops("batches"), key=lambda row: row["batch_id"])

    def ops(self, name: str) -> list[Row]:
        """An ops table's rows of this pipeline."""
        return _rows(
            f"{self._root}/ops/{name}", f"SELECT * FROM t WHERE pipeline = '{self._pipeline}'"
        )

    def table(self) -> list[Row]:
        """The output."""
        live = UPath(self._root) / "checkpoints" / self._pipeline / "live.json"
        name = json.loads(live.read_text())["table"] if live.exists() else self._pipeline
        rows = _rows(f"{self._root}/tables/{name}", "SELECT * FROM t")
        return [_shown(row) for row in rows if not row.get("_sluice_deleted")]

    def _bad(self) -> list[Row]:
        return [
            row for row in self._ledger.to_pylist() if row["kind"] in {"malformed", "premature"}
        ]

    def _hold(self, what: str, found: Iterable[Any], wanted: Iterable[Any]) -> None:
        has, should = Counter(found), Counter(wanted)
        missing = should - has
        extra = has - should
        self._lost += missing.total()
        self._doubled += extra.total()
        if missing:
            self._told.append(
                f"{missing.total()} {what} are missing, for example {list(missing)[:FIRST]}"
            )
        if extra:
            self._told.append(
                f"{extra.total()} {what} should not be there, for example {list(extra)[:FIRST]}"
            )

    def _hold_watermark(self, batches: list[Row], ends: list[dict[int, int]]) -> None:
        """All that was read has moved the watermark, and the last batch ran under it."""
        wanted = (
            None
            if self._delay is None
            else replay.watermark(self._ledger, ends, ENTERS[self._pipeline], self._delay)
        )
        found = batches[-1]["watermark"] if batches else None
        if found != wanted:
            self._told.append(
                f"the last batch ran under watermark {found}, and all that was read leads to "
                f"{wanted}: "
                "the batch that closes what is due is missing, or ran under another"
            )

    def _hold_sums(self, says: str, accounts: list[Row], rows: int) -> None:
        kinds = self._ledger.column("kind").to_pylist()
        wanted = {
            "read": len(kinds),
            "malformed": kinds.count("malformed"),
            "premature": kinds.count("premature"),
            "late": len(self.ops("late")),
            "rows_out": rows,
            "unaccounted": 0,
        }
        found = {name: sum(account[name] or 0 for account in accounts) for name in wanted}
        if self._pipeline in KEYED:
            found["rows_out"] = sum(each["inserted"] - each["deleted"] for each in accounts)
        if found != wanted:
            self._told.append(f"{says} {found}, and it is {wanted}")


def _shown(row: Row) -> Row:
    """What consumers see of it."""
    return {name: value for name, value in row.items() if not name.startswith("_sluice_")}


def _kept(row: Row) -> tuple[Any, ...]:
    """A record that is kept aside: where from, as what, and a malformed one's bytes."""
    return (
        row["partition"],
        row["offset"],
        row["kind"],
        row["value"] if row["kind"] == "malformed" else None,
    )


def _rows(path: str, sql: str) -> list[Row]:
    if not deltalake.DeltaTable.is_deltatable(path):
        return []
    found = (
        deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path)).execute(sql).read_all()
    )
    rows: list[Row] = pa.table(found).to_pylist()
    return rows


if __name__ == "__main__":
    root, folder, pipeline, seconds, told = sys.argv[1:]
    delay = timedelta(seconds=float(seconds))
    verdict = Verifier(root, Path(folder), pipeline, delay, Path(told)).verdict()
    sys.stdout.write(json.dumps(verdict._asdict()) + "\n")
    sys.exit(1 if verdict.told else 0)
