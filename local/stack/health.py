"""`python -m local.stack.health NAME`: exit with 0 where that part of Airflow is healthy.

No import that takes time.
"""

import json
import sys
from http.client import HTTPException
from urllib.request import urlopen

SECONDS = 8
URLS = {
    "api-server": ("http://127.0.0.1:8080/api/v2/monitor/health", "metadatabase"),
    "scheduler": ("http://127.0.0.1:8974/health", None),
    "dag-processor": ("http://airflow-api:8080/api/v2/monitor/health", "dag_processor"),
}
"""Where to ask, and about which part of the answer; the scheduler answers for itself, by a page on
loopback.
"""


def main() -> int:
    url, part = URLS[sys.argv[1]]
    try:
        with urlopen(url, timeout=SECONDS) as answer:
            text = answer.read()
    except (OSError, HTTPException):
        return 1
    return 0 if part is None or json.loads(text)[part]["status"] == "healthy" else 1


if __name__ == "__main__":
    sys.exit(main())
