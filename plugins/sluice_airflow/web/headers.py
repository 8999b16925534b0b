"""The headers of every answer: what a browser may do with it.

Records are hostile input. Were one ever taken for markup, it could run nothing, load nothing and
send nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)
"""Airflow's UI shows the pages in a frame, so it is an ancestor."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",  # what one person may see stays in no cache
}
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class Headers:
    """Middleware that sets them, on errors too."""

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", ())
                message["headers"] = [
                    *(pair for pair in given if pair[0].decode() not in HEADERS),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        await self.app(scope, receive, with_headers)
