"""Sluice's Airflow plugin.

Airflow imports every .py under this folder that .airflowignore does not name, each as its own
module. So this is the only such file; the code is in the package beside it.
"""

from airflow.plugins_manager import AirflowPlugin

from sluice_airflow.dags.timetable import OnRequest
from sluice_airflow.web.mount import APPS, VIEWS


class SluicePlugin(AirflowPlugin):
    """Airflow shows it under Admin > Plugins, reads DAGs by its timetable, and shows its views."""

    name = "sluice"
    timetables = [OnRequest]  # noqa: RUF012 - Airflow's attribute
    fastapi_apps = APPS
    external_views = VIEWS
