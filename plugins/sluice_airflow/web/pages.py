"""The pages: HTML from the same readings as the JSON routes. They have text only, escaped by
Jinja, and no script or style of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.app import API_ROOT_PATH
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from sluice_airflow.web.bars import account_bars, state_bars
from sluice_airflow.web.mount import PREFIX
from sluice_airflow.web.ops import installed
from sluice_airflow.web.rights import Permitted, Readable, not_found, permitted
from sluice_airflow.web.templates import environment
from spark_jobs.ops import history, rejected
from spark_jobs.ops.rejected import Table

router = APIRouter(include_in_schema=False)
BASE = f"{API_ROOT_PATH.rstrip('/')}{PREFIX}"
STATIC = {"sluice.css": "text/css", "sluice.js": "text/javascript"}
FOLDER = Path(__file__).parent / "static"
ROWS = 60
Page = Annotated[int, Query(ge=0, le=100_000, description="the page, from 0")]
RunId = Annotated[str, Query(max_length=500, description="the run")]


@router.get("/")
def overview(names: Readable) -> Response:
    """All pipelines on a line each."""
    with installed() as root:
        found = history.overview(root, names)
    return _page("overview.html", lines=found.pipelines)


@router.get("/pipelines/{pipeline}")
def pipeline(pipeline: Permitted, page: Page = 0) -> Response:
    """A pipeline over time."""
    with installed() as root:
        found = history.runs(root, pipeline, ROWS, page * ROWS)
        batches = history.batches(root, pipeline, ROWS, page * ROWS)
    return _page(
        "pipeline.html",
        pipeline=pipeline,
        found=found,
        batches=batches,
        page=page,
        account=account_bars(found.runs),
        state=state_bars(batches.batches),
    )


@router.get("/pipelines/{pipeline}/run")
def run(pipeline: Permitted, run_id: RunId) -> Response:
    """One run."""
    with installed() as root:
        found = history.run(root, pipeline, run_id)
    if found is None:
        raise not_found()
    return _page("run.html", pipeline=pipeline, run=found)


@router.get("/pipelines/{pipeline}/late")
def late(pipeline: Permitted, page: Page = 0) -> Response:
    """Late records."""
    return _rejected(pipeline, "late", page)


@router.get("/pipelines/{pipeline}/quarantine")
def quarantine(pipeline: Permitted, page: Page = 0) -> Response:
    """Malformed and premature records."""
    return _rejected(pipeline, "quarantine", page)


@router.get("/dags/{dag_id}")
def of_dag(dag_id: str, names: Readable) -> Response:
    """The tab of a DAG: its pipeline. The DAG of backfills has its own id."""
    return pipeline(permitted(dag_id.removesuffix("__backfill"), names))


@router.get("/dags/{dag_id}/runs/{dag_run_id:path}")
def of_dag_run(dag_id: str, dag_run_id: str, names: Readable) -> Response:
    """The tab of a DAG run: its tries, the last one whole."""
    name = permitted(dag_id.removesuffix("__backfill"), names)
    with installed() as root:
        tries = history.tries(root, name, dag_run_id, drains=dag_id == name)
        found = history.run(root, name, tries[0].run_id) if tries else None
    if found is None:
        return message(200, "No run yet", "No task of this DAG run has started a run of Sluice.")
    return _page("run.html", pipeline=name, run=found, tries=tries)


@router.get("/static/{name}")
def static(name: str) -> Response:
    """The style and the script of the pages."""
    if name not in STATIC:
        raise not_found()
    return Response((FOLDER / name).read_bytes(), media_type=STATIC[name])


def message(status: int, title: str, text: str) -> Response:
    """A page with one sentence, for what could not be shown."""
    return _page("message.html", status, title=title, text=text)


def wants_page(request: Request) -> bool:
    """Whether a browser asks for one of the pages, and no program for data."""
    return "text/html" in request.headers.get("accept", "") and "/api/" not in request.url.path


def _rejected(pipeline: str, table: Table, page: int) -> Response:
    with installed() as root:
        found = rejected.rejected(root, pipeline, table, ROWS, page * ROWS)
    return _page("rejected.html", pipeline=pipeline, table=table, found=found, page=page)


def _page(template: str, status: int = 200, **values: Any) -> Response:
    text = environment().get_template(template).render(base=BASE, **values)
    return HTMLResponse(text, status)
