"""Measurements, the table that a person reads, and the JSON that later runs are compared with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple, Self

from rich.table import Table

from bench.machine import Speed
from spark_jobs.settings.installation import REPO

WHOLE = 100
"""From here on, decimals are noise."""
Kind = Literal["at least", "at most"]


class Measure(NamedTuple):
    """One row: both arms' values, and ratios pair by pair, since the two of a pair ran one after
    the other.
    """

    work: str
    rival: str
    """What Sluice is held against; empty where it is held against a limit."""
    sluice: list[float]
    against: list[float]
    """The rival's values."""
    ratios: list[float]
    kind: Kind
    target: float | None
    unit: Literal["x", "%", "GB", "MB", "KB", "s", ""] = "x"

    @classmethod
    def faster(
        cls,
        work: str,
        rival: str,
        target: float | None,
        sluice: list[float],
        against: list[float],
    ) -> Self:
        """Rates: Sluice's over the rival's."""
        return cls(
            work,
            rival,
            sluice,
            against,
            [s / b for s, b in zip(sluice, against, strict=True)],
            "at least",
            target,
        )

    @classmethod
    def less(
        cls,
        work: str,
        rival: str,
        target: float | None,
        sluice: list[float],
        against: list[float],
    ) -> Self:
        """Costs: the rival's over Sluice's, so that more is better."""
        return cls(
            work,
            rival,
            sluice,
            against,
            [b / s for s, b in zip(sluice, against, strict=True)],
            "at least",
            target,
        )

    @classmethod
    def fraction(
        cls, work: str, rival: str, target: float | None, sluice: list[float], against: list[float]
    ) -> Self:
        """Costs: Sluice's over the rival's, so that less is better."""
        return cls(
            work,
            rival,
            sluice,
            against,
            [s / b for s, b in zip(sluice, against, strict=True)],
            "at most",
            target,
        )

    @classmethod
    def share(cls, work: str, target: float, shares: list[float]) -> Self:
        """A share of Sluice's own time."""
        return cls(
            work, "", shares, [], [100 * share for share in shares], "at most", 100 * target, "%"
        )

    @classmethod
    def limit(
        cls,
        work: str,
        target: float | None,
        values: list[float],
        unit: Literal["s", "MB", "KB", ""] = "s",
    ) -> Self:
        """Seconds, sizes, or numbers, of Sluice's, held against a limit."""
        return cls(work, "", values, [], values, "at most", target, unit)

    @classmethod
    def counted(cls, work: str, target: int, counts: list[int]) -> Self:
        """How many there are, of as many as there must be."""
        found: list[float] = [*counts]
        return cls(work, "", found, [], found, "at least", target, "")

    @classmethod
    def memory(
        cls, work: str, rival: str, target: float, sluice: list[float], against: list[float]
    ) -> Self:
        """A limit, whatever the rival takes; the largest counts."""
        return cls(work, rival, sluice, against, sluice, "at most", target, "GB")

    @property
    def value(self) -> float:
        """What is held against the target: the median of the ratios; of memory the largest."""
        return max(self.ratios) if self.unit == "GB" else median(self.ratios)

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.kind == "at least" else self.value <= self.target


def table(measures: list[Measure]) -> Table:
    """For the terminal. What a row has in common with the one above is not repeated."""
    shown = Table(title="Medians; smallest and largest in brackets")
    for name in ("work", "Sluice", "against", "", "ratio", "target", ""):
        shown.add_column(name, justify="left" if name in {"work", "against"} else "right")
    above = None
    for measure in measures:
        unit = "" if measure.unit in {"x", ""} else f" {measure.unit}"
        target = f"{measure.kind} {measure.target:g}{unit}" if measure.target is not None else ""
        verdict = {True: "[green]reached[/]", False: "[red]not reached[/]", None: ""}[
            measure.reached
        ]
        again = above is not None and (above.work, above.sluice) == (measure.work, measure.sluice)
        shown.add_row(
            "" if again else measure.work,
            spread(measure.sluice) if measure.rival and not again else "",
            measure.rival,
            spread(measure.against),
            _value(measure, unit),
            target,
            verdict,
        )
        above = measure
    return shown


def write(
    measures: list[Measure],
    folder: Path,
    parameters: dict[str, int],
    *,
    whole: bool = True,
    speeds: tuple[Speed, ...] = (),
) -> Path:
    """All measures, each value kept, as <folder>/<date>.json; not `whole` where the run was cut
    off. `speeds` are the machine's before and behind it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now().astimezone()
    path = folder / f"{now:%Y-%m-%dT%H%M%S}.json"
    machine = {
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "speeds": [one._asdict() for one in speeds],
    }
    rows = [
        measure._asdict() | {"value": measure.value, "reached": measure.reached}
        for measure in measures
    ]
    everything = {
        "at": now.isoformat(),
        "commit": _commit(),
        "whole": whole,
        "parameters": parameters,
        "machine": machine,
        "measures": rows,
    }
    path.write_text(json.dumps(everything, indent=2))
    return path


def spread(values: list[float]) -> str:
    """The median, and where there are several values the smallest and the largest."""
    if not values:
        return ""
    decimals = 2 if median(values) < WHOLE else 0
    middle, low, high = (
        f"{value:,.{decimals}f}" for value in (median(values), min(values), max(values))
    )
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def _value(measure: Measure, unit: str) -> str:
    low, high = min(measure.ratios), max(measure.ratios)
    if not measure.unit:
        return f"{measure.value:,.0f} ({low:,.0f} to {high:,.0f})"
    return f"{measure.value:.2f}{unit or 'x'} ({low:.2f} to {high:.2f})"


def _commit() -> str:
    """The code's commit, with `-dirty` where files differ from it; empty where git cannot say."""
    with suppress(OSError, subprocess.SubprocessError):
        words = ["git", "-C", str(REPO), "describe", "--always", "--dirty", "--abbrev=9"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    return ""
