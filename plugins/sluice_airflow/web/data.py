"""The JSON routes: what the pages show, for programs. /sluice/api/openapi.json has their schema."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from sluice_airflow.web import readings
from sluice_airflow.web.apart import Apart
from sluice_airflow.web.ops import installed
from sluice_airflow.web.readings import Asked, Place
from sluice_airflow.web.rights import BytesWithheld, Permitted, Readable, not_found
from spark_jobs.messages.state_answer import StateAnswer
from spark_jobs.ops import history, history as ops_phases
from spark_jobs.ops.at_work import WorksNow
from spark_jobs.ops.json_of_tables import Batches, Phases, Rejected, RunPage, Runs
from spark_jobs.ops.record_shown import RecordPage
from spark_jobs.overview.json_of_overview import Overview
from spark_jobs.repair.find.coverage import Coverage
from spark_jobs.repair.find.ranges_due import Touched

router = APIRouter(route_class=Apart)
Limit = Annotated[int, Query(ge=1, le=5000, description="how many, at most")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="how many newer ones to leave out")]
From = readings.From
To = readings.To
RunId = Annotated[str, Query(max_length=500, description="the run")]


@router.get("/openapi.json", include_in_schema=False)
def schema(request: Request) -> dict[str, Any]:
    """The schema of these routes."""
    found: dict[str, Any] = request.app.openapi()
    return found


@router.get("/pipelines", response_model=Overview)
def overview(names: Readable) -> Response:
    """All pipelines that you may see, those in trouble first, with their last runs."""
    return _json(readings.overview(names))


@router.get("/pipelines/{pipeline}/runs", response_model=Runs)
def runs(pipeline: Permitted, limit: Limit = 60, offset: Offset = 0) -> Response:
    """The runs of a pipeline, newest first."""
    with installed(pipeline) as root:
        return _json(history.runs(root, pipeline, limit, offset))


@router.get("/pipelines/{pipeline}/batches", response_model=Batches)
def batches(pipeline: Permitted, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The batches of a pipeline, newest first, each with its account and its state."""
    with installed(pipeline) as root:
        return _json(history.batches(root, pipeline, limit, offset))


@router.get("/pipelines/{pipeline}/phases", response_model=Phases)
def phases(pipeline: Permitted, limit: Limit = 60, offset: Offset = 0) -> Response:
    """The seconds of each run by phase, newest first."""
    with installed(pipeline) as root:
        return _json(ops_phases.phases(root, pipeline, limit, offset))


@router.get("/pipelines/{pipeline}/run", response_model=RunPage)
def run(pipeline: Permitted, run_id: RunId, withheld: BytesWithheld) -> Response:
    """One run: account, state, batches, checks."""
    found = readings.run(pipeline, run_id, withheld)
    if found is None:
        raise not_found()
    return _json(found)


@router.get("/pipelines/{pipeline}/at_work", response_model=WorksNow)
def at_work(pipeline: Permitted) -> Response:
    """The drains that work now, and those that died without a word."""
    return _json(WorksNow(runs=readings.at_work(pipeline)))


@router.get("/pipelines/{pipeline}/late", response_model=Rejected)
def late(
    pipeline: Permitted,
    withheld: BytesWithheld,
    only: Asked,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Late records, by day and step, without their bytes."""
    return _json(readings.rejected(pipeline, "late", limit, offset, withheld, only))


@router.get("/pipelines/{pipeline}/quarantine", response_model=Rejected)
def quarantine(
    pipeline: Permitted,
    withheld: BytesWithheld,
    only: Asked,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Malformed and premature records, by day and reason, without their bytes."""
    return _json(readings.rejected(pipeline, "quarantine", limit, offset, withheld, only))


@router.get("/pipelines/{pipeline}/record", response_model=RecordPage)
def record(pipeline: Permitted, place: Place, withheld: BytesWithheld) -> Response:
    """One late or quarantined record; its bytes for those who may see them."""
    return _json(readings.record(pipeline, place, withheld))


@router.get("/pipelines/{pipeline}/coverage", response_model=Coverage)
def coverage(pipeline: Permitted, start: From = None, end: To = None) -> Response:
    """Which days, or hours, have all their records, and which wait for a repair."""
    return _json(readings.covered(pipeline, start, end)[0])


@router.get("/pipelines/{pipeline}/repair", response_model=Touched)
def to_repair(pipeline: Permitted) -> Response:
    """The ranges that a repair would compute now."""
    return _json(readings.to_repair(pipeline))


@router.get("/pipelines/{pipeline}/state", response_model=StateAnswer)
def state(pipeline: Permitted, withheld: BytesWithheld) -> Response:
    """The state as `sluice state --keep` read it last; its rows for those who may see them."""
    found = readings.state(pipeline, withheld)
    if found is None:
        raise not_found()
    return _json(found.answer)


def _json(model: BaseModel) -> Response:
    """Written at once: FastAPI would validate 5,000 batches a second time."""
    return Response(model.model_dump_json(), media_type="application/json")
