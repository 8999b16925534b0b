"""Report: a pipeline over time as one HTML file, to send to a colleague; and the figures that it
shows, as the page of the pipeline does. It needs no network, runs no script but the one that draws
its charts, and has no values of records: no rejected record, and of a check neither its sample nor
what it observed in rows, which may be a row's value.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from spark_jobs import __version__
from spark_jobs.errors import SluiceError
from spark_jobs.ops import history, history as ops_phases
from spark_jobs.ops.json_of_tables import Batches, CheckLine, RunPage, Runs
from spark_jobs.pages import growth as growth_words
from spark_jobs.pages.chart import Chart
from spark_jobs.pages.charts import accounts, by_phase, lags, late_shares
from spark_jobs.pages.growth import growth
from spark_jobs.pages.run_page import run_page
from spark_jobs.pages.strip import segments
from spark_jobs.pages.templates import SCRIPTS, STYLES, environment
from spark_jobs.repair.find.coverage import Coverage
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

    Covered = Callable[[Pipeline, Paths], Coverage]
    """prove/covered.py has one."""


class Figures(NamedTuple):
    """The runs and batches of a page, newest first, and their charts."""

    found: Runs
    batches: Batches
    charts: list[Chart]


def figures(
    root: UPath, pipeline: str, spec: Pipeline | None, limit: int, offset: int, charted: int = 0
) -> Figures:
    """Of `limit` runs and batches, after the newest `offset`. The charts have more runs, if
    `charted` is more. `spec`: None where it does not load, and the history is there all the same.
    """
    most = max(limit, charted)
    runs = history.runs(root, pipeline, most, offset)
    found = Runs(runs=runs.runs[:limit], more=runs.more or len(runs.runs) > limit)
    batches = history.batches(root, pipeline, limit, offset)
    charts = [
        accounts(runs.runs),
        lags(runs.runs),
        late_shares(runs.runs, _late_share(spec) if spec else None),
        by_phase(ops_phases.phases(root, pipeline, most, offset).runs),
    ]
    return Figures(found, batches, charts)


def _late_share(spec: Pipeline) -> float | None:
    share = next(
        (
            check.kwargs.get("max_value")
            for check in state_checks_of(spec)
            if "late_share" in check.columns
        ),
        None,
    )
    return float(share) if isinstance(share, int | float) else None


def report(spec: Pipeline, root: str, now: datetime, most: int, asked: Covered) -> str:
    """The file's text: the newest `most` runs and batches, the last checks, and the coverage, for
    which `asked` is asked.
    """
    paths = Paths(root, spec)
    found = figures(paths.root, spec.name, spec, most, 0)
    runs = found.found.runs
    covered, why = _covered(spec, paths, asked)
    return (
        environment()
        .get_template("report.html")
        .render(
            pipeline=spec.name,
            made_at=now,
            now=now,
            version=__version__,
            style=_own(STYLES),
            script=_own(SCRIPTS),
            digest=_digest,
            base=None,
            figures=found,
            growth=growth(paths.root, spec),
            words=growth_words,
            run=_run(run_page(paths.root, spec.name, runs[0].run_id, spec)) if runs else None,
            covered=covered,
            segments=segments(covered) if covered else [],
            unasked="A report does not ask it.",
            form=None,
            no_coverage=why,
        )
    )


def _own(files: Iterable[Path]) -> Markup:
    return Markup("\n").join(Markup(path.read_text()) for path in files if path.is_file())


def _digest(text: str) -> str:
    """The one text that the file's policy lets run, or style it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _run(found: RunPage | None) -> RunPage | None:
    if found is None:
        return None
    return found.model_copy(update={"checks": tuple(map(_without_values, found.checks))})


def _without_values(check: CheckLine) -> CheckLine:
    result = check.result
    if result.suite != "output" and result.outcome != "broken":
        return check
    return check.model_copy(update={"result": result.model_copy(update={"observed": ""})})


def _covered(spec: Pipeline, paths: Paths, asked: Covered) -> tuple[Coverage | None, str]:
    try:
        return asked(spec, paths), ""
    except SluiceError as error:
        return None, f"{error.what} {error.remedy}"
