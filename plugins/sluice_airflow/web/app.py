"""The app of the views: each of its routes asks who is there, before anything else."""

from __future__ import annotations

from urllib.parse import urlencode

from airflow.api_fastapi.app import API_ROOT_PATH
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, FastAPI, HTTPException, Request, status
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response

from sluice_airflow.entered import once_entered
from sluice_airflow.web import bundles, data, pages
from sluice_airflow.web.headers import HEADERS, Headers
from sluice_airflow.web.page import message, wants_page
from sluice_airflow.web.prefix import PREFIX
from spark_jobs.errors import RangeInvalid, RangeOpen, RangeUnsupported, SluiceError

STATUS = {
    RangeInvalid.code: status.HTTP_422_UNPROCESSABLE_CONTENT,
    RangeUnsupported.code: status.HTTP_409_CONFLICT,
    RangeOpen.code: status.HTTP_409_CONFLICT,
}
"""Of errors that are the question's, and not the installation's."""
NOT_LOGGED_IN = (status.HTTP_401_UNAUTHORIZED, status.HTTP_403_FORBIDDEN)


def create_app() -> FastAPI:
    """The app, as Airflow mounts it. It finds the pipelines where the DAG processor does."""
    bundles.on_path()
    app = FastAPI(
        title="Sluice",
        dependencies=[Depends(get_user), Depends(_in_project)],
        # FastAPI's own routes for these ask nobody: data.py has one that does.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.include_router(data.router, prefix="/api")
    app.include_router(pages.router)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(SluiceError, _error)
    app.add_exception_handler(Exception, _unforeseen)
    app.add_middleware(Headers)
    return app


async def _in_project(request: Request) -> None:
    """A project that could not be entered is said until its file is right; with its style."""
    if "/static/" not in request.url.path:
        once_entered()


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if wants_page(request):
        if error.status_code in NOT_LOGGED_IN:
            back = urlencode({"next": _address(request)})
            return RedirectResponse(
                f"{API_ROOT_PATH}api/v2/auth/login?{back}", status.HTTP_303_SEE_OTHER
            )
        return message(error.status_code, "Nothing here", str(error.detail))
    return JSONResponse({"detail": error.detail}, error.status_code)


def _invalid(request: Request, error: Exception) -> Response:
    """Without what was given: FastAPI's own answer repeats that."""
    assert isinstance(error, RequestValidationError)
    what = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors())
    if wants_page(request):
        return message(status.HTTP_422_UNPROCESSABLE_CONTENT, "Not understood", what)
    return JSONResponse({"detail": what}, status.HTTP_422_UNPROCESSABLE_CONTENT)


def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SluiceError)
    code = STATUS.get(error.code, status.HTTP_503_SERVICE_UNAVAILABLE)
    if wants_page(request):
        return message(code, f"This cannot be shown: {error.code}", error.what, error.remedy)
    body = {"code": error.code, "what": error.what, "remedy": error.remedy}
    return JSONResponse(body, code)


def _unforeseen(request: Request, error: Exception) -> Response:
    """Starlette raises the error again, for the log. Its text may have values of records."""
    code = status.HTTP_500_INTERNAL_SERVER_ERROR
    what = (
        f"This could not be read, by an error that Sluice does not foresee: {type(error).__name__}."
    )
    remedy = "The log of the API server has it whole."
    answer: Response = JSONResponse({"code": "UNEXPECTED", "what": what, "remedy": remedy}, code)
    if wants_page(request):
        answer = message(code, "This cannot be shown: UNEXPECTED", what, remedy)
    answer.headers.update(HEADERS)  # no middleware sees it
    return answer


def _address(request: Request) -> str:
    path = request.url.path
    if PREFIX not in path:  # an older Starlette gives the path within the app
        path = f"{request.scope.get('root_path', '')}{path}"
    return f"{path}?{request.url.query}" if request.url.query else path
