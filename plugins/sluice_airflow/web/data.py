"""The JSON routes: what the pages show, for programs. /sluice/api/openapi.json has their schema."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from sluice_airflow.web.ops import installed
from sluice_airflow.web.rights import Permitted, Readable, not_found
from spark_jobs.ops import history, rejected
from spark_jobs.ops.shown import Batches, Overview, Rejected, RunPage, Runs

router = APIRouter()
Limit = Annotated[int, Query(ge=1, le=5000, description="how many, at most")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="how many newer ones to leave out")]
RunId = Annotated[str, Query(max_length=500, description="the run")]


@router.get("/openapi.json", include_in_schema=False)
def schema(request: Request) -> dict[str, Any]:
    """The schema of these routes."""
    found: dict[str, Any] = request.app.openapi()
    return found


@router.get("/pipelines", response_model=Overview)
def overview(names: Readable) -> Response:
    """All pipelines that you may see, with their last runs."""
    with installed() as root:
        return _json(history.overview(root, names))


@router.get("/pipelines/{pipeline}/runs", response_model=Runs)
def runs(pipeline: Permitted, limit: Limit = 60, offset: Offset = 0) -> Response:
    """The runs of a pipeline, newest first."""
    with installed() as root:
        return _json(history.runs(root, pipeline, limit, offset))


@router.get("/pipelines/{pipeline}/batches", response_model=Batches)
def batches(pipeline: Permitted, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The batches of a pipeline, newest first, each with its account and its state."""
    with installed() as root:
        return _json(history.batches(root, pipeline, limit, offset))


@router.get("/pipelines/{pipeline}/run", response_model=RunPage)
def run(pipeline: Permitted, run_id: RunId) -> Response:
    """One run: account, state, batches, checks."""
    with installed() as root:
        found = history.run(root, pipeline, run_id)
    if found is None:
        raise not_found()
    return _json(found)


@router.get("/pipelines/{pipeline}/late", response_model=Rejected)
def late(pipeline: Permitted, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Late records, by day and step, without their bytes."""
    with installed() as root:
        return _json(rejected.rejected(root, pipeline, "late", limit, offset))


@router.get("/pipelines/{pipeline}/quarantine", response_model=Rejected)
def quarantine(pipeline: Permitted, limit: Limit = 100, offset: Offset = 0) -> Response:
    """Malformed and premature records, by day and reason, without their bytes."""
    with installed() as root:
        return _json(rejected.rejected(root, pipeline, "quarantine", limit, offset))


def _json(model: BaseModel) -> Response:
    """Written at once: FastAPI would validate 5,000 batches a second time."""
    return Response(model.model_dump_json(), media_type="application/json")
