"""Page: one of the templates as an answer, and the page for what cannot be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.api_fastapi.app import API_ROOT_PATH
from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from sluice_airflow.web.prefix import PREFIX
from spark_jobs.pages.templates import environment

BASE = f"{API_ROOT_PATH.rstrip('/')}{PREFIX}"
HERE = Path(__file__).parent


def page(template: str, status: int = 200, **values: Any) -> Response:
    """The template of this name in html/, with these values; `base` begins each of its links."""
    text = environment(HERE / "html").get_template(template).render(base=BASE, **values)
    return HTMLResponse(text, status)


def message(status: int, title: str, text: str, remedy: str = "") -> Response:
    """A page for what could not be shown: why, and what mends it."""
    return page("message.html", status, title=title, text=text, remedy=remedy)


def wants_page(request: Request) -> bool:
    """Whether a browser asks for one of the pages, and no program for data."""
    return "text/html" in request.headers.get("accept", "") and "/api/" not in request.url.path
