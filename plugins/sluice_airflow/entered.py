"""Entered: the project in which a process of Airflow works."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from airflow.sdk.configuration import conf

from spark_jobs.settings.project_file import enter


def enter_project() -> None:
    """Enter it by what sluice.toml says now. Raises SettingInvalid."""
    enter(above=Path(conf.get_mandatory_value("core", "dags_folder")))


once_entered = cache(enter_project)
"""Enter it unless this process has. Raises SettingInvalid as often as the file is wrong."""
