"""The pages: HTML from the same readings as the JSON routes. They have text only, escaped by
Jinja, and no script or style of their own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, get_args
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import API_ROOT_PATH
from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from sluice_airflow import ids
from sluice_airflow.web import readings
from sluice_airflow.web.apart import Apart
from sluice_airflow.web.drained import refuse_absent
from sluice_airflow.web.ops import installed
from sluice_airflow.web.page import BASE, HERE, message, page as rendered
from sluice_airflow.web.readings import Asked, Chosen, From, Shown, To
from sluice_airflow.web.rights import (
    BytesWithheld,
    MayTrigger,
    Permitted,
    PermittedOfDag,
    Readable,
    WithheldOfDag,
    not_found,
)
from sluice_airflow.web.trigger import trigger
from spark_jobs.checkpoint.notes.live_spec import known_spec
from spark_jobs.errors import SluiceError
from spark_jobs.messages.kind import STAGED_KINDS, AskedKind, kinds_by_key
from spark_jobs.messages.state_answer import expires
from spark_jobs.ops import history
from spark_jobs.ops.at_work import AtWork
from spark_jobs.ops.json_of_tables import RunPage
from spark_jobs.ops.rejected import Table
from spark_jobs.overview.json_of_overview import strip
from spark_jobs.overview.troubles import TROUBLES
from spark_jobs.pages import charts as of_state, growth as growth_words
from spark_jobs.pages.charts import of_check
from spark_jobs.pages.flow_of import (
    flow_of,
    flow_of_rows,
    flow_of_topic,
    flow_so_far,
    says,
    topics_differ,
)
from spark_jobs.pages.report import figures
from spark_jobs.pages.strip import segments
from spark_jobs.pages.templates import SCRIPTS, STYLES
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.ranges_due import Touched
from spark_jobs.spec.analysis.ranged import ranged, unranged

router = APIRouter(route_class=Apart, include_in_schema=False)
STATIC = {path.name: path for path in (*STYLES, *SCRIPTS, *(HERE / "static").iterdir())}
KINDS_OF_FILES = {".css": "text/css", ".js": "text/javascript"}
ROWS = 60
CHARTED = 700
"""Runs of a chart: of seven days, if there is one every quarter of an hour."""
Page = Annotated[int, Query(ge=0, le=100_000, description="the page, from 0")]
RunId = Annotated[str, Query(max_length=500, description="the run")]


@router.get("/")
def overview(names: Readable) -> Response:
    """All pipelines on a line each, those in trouble first."""
    return rendered(
        "overview.html", found=readings.overview(names), troubles=TROUBLES, strip=strip, dag=_dag
    )


@router.get("/pipelines/{pipeline}")
def over_time(pipeline: Permitted, page: Page = 0) -> Response:
    """A pipeline over time."""
    with installed(pipeline) as root:
        found = figures(root, pipeline, known_spec(pipeline, str(root)), ROWS, page * ROWS, CHARTED)
    whole = readings.wrong_with(pipeline)
    return rendered(
        "pipeline.html",
        pipeline=pipeline,
        line=whole.pipelines[0],
        now=whole.at,
        dag=_dag,
        figures=found,
        page=page,
        works=[each for each in readings.at_work(pipeline) if each.standing != "ended"],
    )


@router.get("/pipelines/{pipeline}/run")
def run(pipeline: Permitted, run_id: RunId, withheld: BytesWithheld) -> Response:
    """One run."""
    for each in readings.at_work(pipeline):
        if each.run_id == run_id and each.standing != "ended":
            return _works(pipeline, each)
    found = readings.run(pipeline, run_id, withheld)
    if found is None:
        raise not_found()
    return _run(pipeline, found)


@router.get("/pipelines/{pipeline}/coverage")
def coverage(pipeline: Permitted, start: From = None, end: To = None) -> Response:
    """Which days have all their records."""
    whole, unasked = readings.covered(pipeline, start, end)
    found = readings.newest(whole)
    return rendered(
        "coverage.html",
        pipeline=pipeline,
        covered=found,
        segments=segments(found),
        unasked=unasked,
        older=readings.older(found),
        form=_form(pipeline),
        start=start or "",
        end=end or "",
    )


@router.get("/pipelines/{pipeline}/state")
def state(pipeline: Permitted, withheld: BytesWithheld) -> Response:
    """How the state grew, and what it was when it was read last."""
    spec, growth, kept = readings.remembered(pipeline, withheld)
    return rendered(
        "state.html",
        pipeline=pipeline,
        spec=spec,
        stateful=any(step.stateful for step in spec.steps),
        growth=growth,
        kept=kept,
        behind=kept.behind(growth.live) if kept else 0,
        withheld=withheld,
        words=growth_words,
        expires=expires,
        of_state=of_state,
        now=datetime.now(UTC),
    )


@router.get("/pipelines/{pipeline}/rejected")
def rejected(
    pipeline: Permitted,
    withheld: BytesWithheld,
    only: Asked,
    place: Chosen,
    table: Shown = None,
    page: Page = 0,
) -> Response:
    """Late, malformed and premature records, and one of them whole."""
    tables: tuple[Table, ...] = (table,) if table else get_args(Table)
    found = {
        each: readings.rejected(pipeline, each, ROWS, page * ROWS, withheld, only)
        for each in tables
    }
    days = (day for each in found.values() for day in each.days)
    repair, lacking = _to_repair(pipeline) if "late" in tables else (None, "")
    return rendered(
        "rejected.html",
        pipeline=pipeline,
        place=place,
        record=readings.record(pipeline, place, withheld) if place else None,
        found=found,
        days=sorted(days, key=lambda day: day.day, reverse=True),
        table=table,
        page=page,
        only=only,
        withheld=withheld,
        repair=repair,
        lacking=lacking,
        replayable=_replayable(pipeline),
        partitions=readings.partitions(pipeline),
    )


@router.get("/pipelines/{pipeline}/late")
@router.get("/pipelines/{pipeline}/quarantine")
@router.get("/pipelines/{pipeline}/record")
def moved(pipeline: Permitted, request: Request) -> Response:
    """Addresses of before: each is a part of the page of rejected records."""
    old = request.url.path.rpartition("/")[2]
    table = [] if old == "record" else [("table", old)]
    question = urlencode([*table, *request.query_params.multi_items()])
    return RedirectResponse(f"{BASE}/pipelines/{quote(pipeline)}/rejected?{question}", 308)


@router.get("/pipelines/{pipeline}/repair")
def repair(
    pipeline: Permitted,
    may: MayTrigger,
    kind: Annotated[AskedKind, Query(description="what to do")] = "repair",
    start: From = None,
    end: To = None,
) -> Response:
    """The form of the backfill DAG, filled in."""
    spec = registry.load(pipeline)
    why = unranged(spec)
    if spec.is_archive:
        ranged(spec)  # raises: an archive has no such DAG
    # What a link asks for may have no place in the form of one without ranges.
    asked = {} if why and kind not in kinds_by_key(spec) else {"kind": kind}
    ends = {} if why else {"from": start, "to": end}
    form = trigger(pipeline, asked | ends, why, keyed=kinds_by_key(spec))
    return rendered("trigger.html", pipeline=pipeline, form=form, may=may, airflow=API_ROOT_PATH)


@router.get("/dags/{dag_id}")
def of_dag(pipeline: PermittedOfDag) -> Response:
    """The tab of a DAG: its pipeline. The DAG of backfills has its own id."""
    return over_time(pipeline)


@router.get("/dags/{dag_id}/runs/{dag_run_id:path}")
def of_dag_run(
    dag_id: str, dag_run_id: str, pipeline: PermittedOfDag, withheld: WithheldOfDag
) -> Response:
    """The tab of a DAG run: its tries, the last one whole."""
    drains = dag_id == ids.drains(pipeline)
    for each in readings.at_work(pipeline) if drains else ():
        if history.is_try(each.run_id, dag_run_id) and each.standing != "ended":
            return _works(pipeline, each)
    with installed(pipeline) as root:
        tries = history.tries(root, pipeline, dag_run_id, drains=drains)
    found = readings.run(pipeline, tries[0].run_id, withheld) if tries else None
    if found is None:
        refuse_absent(dag_id, dag_run_id, str(root))
        return message(200, "No run yet", "No task of this DAG run has started a run of Sluice.")
    return _run(pipeline, found, tries=tries)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """The style and the scripts of the pages; not behind what waits for a store."""
    path = STATIC.get(name)
    if path is None or not path.is_file():
        raise not_found()
    return Response(path.read_bytes(), media_type=KINDS_OF_FILES[path.suffix])


def _run(pipeline: str, found: RunPage, **more: Any) -> Response:
    return rendered(
        "run.html",
        pipeline=pipeline,
        run=found,
        flow=flow_of(found),
        rows_flow=flow_of_rows(found),
        topics_differ=topics_differ(found),
        topic_flows=[(each.topic, flow_of_topic(each)) for each in found.topics],
        says=says(found),
        records=_records(pipeline, found.line.run_id),
        STAGED_KINDS=STAGED_KINDS,
        partitions=readings.partitions(pipeline),
        charts=list(map(of_check, found.checks)),
        **more,
    )


def _works(pipeline: str, work: AtWork) -> Response:
    records, flow = _records(pipeline, work.run_id), flow_so_far(work)
    return rendered("at_work.html", pipeline=pipeline, work=work, flow=flow, records=records)


def _records(pipeline: str, run_id: str) -> dict[str, str]:
    questions = {
        "late": {"table": "late"},
        "malformed": {"table": "quarantine", "kind": "malformed"},
        "premature": {"table": "quarantine", "kind": "premature"},
    }
    own, of = {"run_id": run_id}, f"{BASE}/pipelines/{quote(pipeline)}/rejected"
    return {part: f"{of}?{urlencode(asked | own)}" for part, asked in questions.items()}


def _replayable(pipeline: str) -> bool:
    """A replay of a pipeline with neither ranges nor keys is refused. The records are shown anyway,
    also of a wrong spec.
    """
    try:
        spec = registry.load(pipeline)
        return spec.keyed is not None or unranged(spec) is None
    except SluiceError:
        return False


def _to_repair(pipeline: str) -> tuple[Touched | None, str]:
    try:
        return readings.to_repair(pipeline), ""
    except SluiceError as error:
        return None, f"{error.what} {error.remedy}"


def _dag(pipeline: str) -> str:
    return f"{API_ROOT_PATH}dags/{ids.drains(pipeline)}"


def _form(pipeline: str) -> str:
    return f"{API_ROOT_PATH}dags/{ids.backfills(pipeline)}"
