"""The default state checks of a pipeline. docs/reference.md lists each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from spark_jobs.spec import Check, Pipeline, within
from spark_jobs.spec.output_mode import mode_facts


def counting_step(spec: Pipeline) -> int | None:
    """The index of the step whose records can be balanced; None if there is none.

    No Aggregate's if rows are written again while their group is open, and the group is evicted
    later without a row (update with a window).
    """
    for index, step in enumerate(spec.steps):
        if step.counting(spec.watermark_delay):
            return index
        if step.counted_by:
            mode = mode_facts(spec.output_mode)
            keeps = mode.keeps_all_state or step.grouping_window is None
            return index if keeps or mode.writes_evicted else None
    return None


UNACCOUNTED = within(
    "unaccounted",
    0,
    severity="critical",
    about="every offset must be accounted for; if not, Sluice has a bug or the checkpoint is "
    "damaged",
)
GROUPS = within(
    "groups_unaccounted",
    0,
    severity="critical",
    about="what entered is in state or rows; if not, Sluice or Spark has a bug, or the state is "
    "damaged",
)
LEAST_READ: Final = 200
"""Records from which a share of rejected ones says something: of three, one is a third."""
_SEE = "see sluice show quarantine"
NOTHING_ACCEPTED = within(
    "nothing_accepted",
    0,
    severity="critical",
    about="none was accepted: the producer's format or the spec is wrong, or the data is old; "
    f"{_SEE}, sluice show late",
)
REJECTED = (
    within(
        "malformed_share",
        0.1,
        severity="critical",
        about=f"a producer may have changed its format, or the spec does not fit it: {_SEE}",
    ),
    within(
        "premature_share",
        0.1,
        severity="critical",
        about=f"a producer's clock is ahead, or the field has another unit: {_SEE}",
    ),
    within(
        "rejected_share",
        0.5,
        severity="critical",
        about=f"more was rejected than not: {_SEE}, sluice show late",
    ),
)
"""The defaults that count from LEAST_READ records."""
REJECTIONS: Final = frozenset(each.columns[0] for each in (NOTHING_ACCEPTED, *REJECTED))
"""The metrics that say how much of what was read was not accepted."""
ARCHIVE_LAG = within(
    "archive_lag",
    1,
    about="what retention overtakes is archived nowhere: archive more often, or lengthen the "
    "topic's retention",
)

TRUNCATES = within(
    "truncates",
    0,
    severity="critical",
    about="the source's table was truncated, and this one still has its rows: delete what is gone, "
    "then `sluice accept`",
)
REMEMBERED = within(
    "remembered_share", 1, about="more deletes than rows: shorten forget_deletes_after"
)


def state_checks_of(spec: Pipeline) -> tuple[Check, ...]:
    """All state checks of a pipeline.

    A check of the spec replaces the default check on the same metric.
    """
    own = {column for check in spec.state_checks for column in check.columns}
    defaults = (
        check for check in _defaults(spec) if check.columns[0] not in {*own, *spec.state_checks_off}
    )
    groups = (GROUPS,) if counting_step(spec) is not None else ()
    return (UNACCOUNTED, *groups, *_budget(spec), *defaults, *spec.state_checks)


def has_truncates(spec: Pipeline) -> bool:
    """Whether a record may tell of one."""
    return any(each.envelope == "debezium" for each in spec.inputs) and not spec.is_archive


def judged_checks(spec: Pipeline, read: int) -> tuple[Check, ...]:
    """Those that say something of so many records read."""
    every = state_checks_of(spec)
    return every if read >= LEAST_READ else tuple(c for c in every if c not in REJECTED)


def acceptance_line(spec: Pipeline) -> str:
    """What a run must accept of what it reads, to be published; empty where nothing is asked."""
    told = [
        _asked(check)
        for check in state_checks_of(spec)
        if check.severity == "critical" and check.columns[:1] and check.columns[0] in REJECTIONS
    ]
    return f"not published without `sluice accept` if {'; or if '.join(told)}" if told else ""


def _asked(check: Check) -> str:
    if check == NOTHING_ACCEPTED:
        return "none of the records that are read is accepted"
    beyond = f"{check.columns[0]} is over {check.kwargs.get('max_value')}"
    return f"{beyond}, from {LEAST_READ} records" if check in REJECTED else beyond


def _budget(spec: Pipeline) -> Iterable[Check]:
    if spec.state.budget_rows:
        yield within(
            "state_rows",
            spec.state.budget_rows,
            severity="critical",
            about="the spec's state.budget_rows",
        )


def _defaults(spec: Pipeline) -> tuple[Check, ...]:
    return (
        within(
            "state_growth",
            float(sum(step.rows_per_record for step in spec.steps)) or 1,
            about="state grew faster than records arrived: look for keys that never repeat",
        ),
        within(
            "behind_watermark_seconds",
            0,
            about="a run was cut short before a batch evicted; the next run evicts",
        ),
        within(
            "still_batches", 10, about="a producer's clock stands still, or old data is sent again"
        ),
        within(
            "late_share",
            0.05,
            about="above this, watermark_delay is too short for this producer: see sluice show "
            "late",
        ),
        within(
            "timers_per_row", 10, about="a processor must delete a timer before it sets a new one"
        ),
        *([TRUNCATES] if has_truncates(spec) else []),
        *([REMEMBERED] if spec.keyed and spec.keyed.forgets_after else []),
        *([ARCHIVE_LAG] if spec.is_archive else [NOTHING_ACCEPTED, *REJECTED]),
        within("state_bytes", spec.state.budget_bytes, about="the spec's state.budget_bytes"),
    )
