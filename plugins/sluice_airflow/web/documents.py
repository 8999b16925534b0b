"""The route of Great Expectations' document of a run: shown in a sandbox, with nothing but its own
style.
"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from sluice_airflow.web.data import RunId
from sluice_airflow.web.ops import installed
from sluice_airflow.web.rights import BytesWithheld, Permitted, not_found
from spark_jobs.documents.kept import stored
from spark_jobs.documents.page import POLICY

router = APIRouter(include_in_schema=False)


@router.get("/pipelines/{pipeline}/document")
def document(pipeline: Permitted, run_id: RunId, withheld: BytesWithheld) -> Response:
    """The document, with values of records for those who may see them."""
    with installed(kept=False) as root:
        found = stored(root, pipeline, run_id, values=withheld is None)
    if found is None:
        raise not_found()
    return HTMLResponse(found, headers={"content-security-policy": POLICY})
