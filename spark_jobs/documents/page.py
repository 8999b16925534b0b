"""Page: the frame of a document, and what a browser may do with it: show it."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from typing import Final

from spark_jobs.contract.visible import visible
from spark_jobs.documents.allowed import cleaned

STYLE: Final = (Path(__file__).parent / "document.css").read_text(encoding="utf-8")
_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
"""Of the answer that has a document. Airflow's UI shows it in a frame. The style is named by its
sum: a document in a sandbox has no origin, so the login's cookie would not go with a request for a
file."""


def framed(title: str, body: str) -> str:
    """A whole page of the markup that is allowed of `body`; of a whole page, its body anew."""
    shown = escape(visible(title))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{shown}</title><style>{STYLE}</style></head>"
        f"<body><main>{cleaned(body)}</main></body></html>"
    )
