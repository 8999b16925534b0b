"""At work: what a person reads of a drain that has not ended; the page gets it anew."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from spark_jobs.spec.duration import approximate

if TYPE_CHECKING:
    from spark_jobs.ops.at_work import AtWork
    from spark_jobs.spec import Pipeline

PHASES = {
    "prepares": "It looks at the topic, the checkpoint and the table.",
    "starts": "Spark starts, and what an earlier run left is completed.",
    "closes": "All is read. It accounts, closes windows, checks and ends.",
}
BASES = {"batches": "by its last {}", "runs": "by the last {}"}
ONE = {"batches": ("batch", "batches"), "runs": ("drain", "drains")}


def words(work: AtWork, spec: Pipeline | None) -> dict[str, str]:
    """Name -> sentence. What is not known is told so. `spec`: None where it does not load."""
    return {
        "standing": _standing(work),
        "phase": _phase(work),
        "batches": f"{_counted(work.batches, 'batch', 'batches')}, {work.account.read:,} records",
        "left": _left(work),
        "rate": _rate(work),
        "when": _when(work, spec),
    }


def _standing(work: AtWork) -> str:
    if work.standing == "works":
        return "It works."
    if work.standing == "ended":
        return "It has ended."
    if work.standing == "silent":
        since = f" since {work.sign_at:%F %H:%M:%S} UTC" if work.sign_at else ""
        return f"No sign of life{since}: it may have died, or nobody can tell from here."
    return (
        "It died: its process is gone, and it told no end. Nothing is lost. The next run goes on "
        "where it was, and writes its row."
    )


def _phase(work: AtWork) -> str:
    if work.standing in {"died", "ended"}:
        return ""
    if work.phase == "reads":
        return f"It reads batch {work.batch}." if work.batch is not None else "It reads."
    return PHASES[work.phase]


def _left(work: AtWork) -> str:
    if work.offsets_left is None:
        return "not known"
    whole = work.offsets_done + work.offsets_left
    return f"{work.offsets_left:,} of {whole:,} offsets" if whole else "nothing"


def _rate(work: AtWork) -> str:
    if work.per_second is None or work.basis is None:
        return "not known before the first batch"
    one, more = ONE[work.basis]
    basis = BASES[work.basis].format(one if work.measured == 1 else f"{work.measured} {more}")
    return f"{work.per_second:,.0f} records a second, {basis}"


def _when(work: AtWork, spec: Pipeline | None) -> str:
    if work.standing in {"died", "ended"}:
        return "never: it does not work" if work.standing == "died" else ""
    if work.offsets_left == 0:
        return "soon: how long accounts and checks take is not known"
    if work.seconds_left is None:
        known = work.per_second is not None and work.offsets_left is not None
        return "not known: it takes longer than this rate says" if known else "not known"
    left = timedelta(seconds=work.seconds_left)
    about = approximate(left) if left >= timedelta(seconds=1) else "a second"
    limits = "".join(f", or at {limit}" for limit in _limits(spec))
    return f"all is read in about {about}, {work.looked_at + left:%H:%M:%S} UTC{limits}"


def _limits(spec: Pipeline | None) -> list[str]:
    if spec is None:
        return []
    named = {"max_batches": spec.max_batches, "max_minutes": spec.max_minutes}
    return [f"{name}={value:g}" for name, value in named.items() if value is not None]


def _counted(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
