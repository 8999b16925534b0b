"""Withheld: answers of the views for people who may not see values of records."""

from __future__ import annotations

from collections import Counter

from spark_jobs.messages.withheld import observed, of_check, of_problem, of_reason
from spark_jobs.ops.json_of_tables import Bucket, CheckLine, Rejected, RejectedLine, RunPage
from spark_jobs.ops.record_shown import RecordPage


def of_run(found: RunPage) -> RunPage:
    """A run, without the values of its checks and of its error."""
    return found.model_copy(
        update={
            "what": found.what and of_problem(found.what),
            "checks": tuple(map(_check, found.checks)),
        }
    )


def of_rejected(found: Rejected) -> Rejected:
    """Rejected records, by reasons without values: several may have become one."""
    records = Counter[tuple[str, str]]()
    for each in found.days:
        records[each.day, of_reason(each.reason)] += each.records
    return found.model_copy(
        update={
            "days": tuple(
                Bucket(day=day, reason=reason, records=count)
                for (day, reason), count in records.items()
            ),
            "records": tuple(map(_line, found.records)),
        }
    )


def of_record(found: RecordPage) -> RecordPage:
    """A record whose bytes were not read, without what its reason has of them."""
    return found.model_copy(update={"line": _line(found.line)})


def _line(line: RejectedLine) -> RejectedLine:
    return line.model_copy(update={"reason": of_reason(line.reason)})


def _check(line: CheckLine) -> CheckLine:
    before = line.history
    if line.result.suite == "output":
        before = tuple(map(observed, before))
    return line.model_copy(update={"result": of_check(line.result), "history": before})
