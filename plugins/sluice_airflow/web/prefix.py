"""Where Airflow mounts the app of the views."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "/sluice"
