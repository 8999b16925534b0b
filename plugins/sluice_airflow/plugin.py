"""Sluice's plugin of Airflow: a timetable, and the views. The wheel's entry point names it."""

from airflow.plugins_manager import AirflowPlugin

from sluice_airflow.dags.timetable import OnRequest
from sluice_airflow.web.mount import APPS, VIEWS


class SluicePlugin(AirflowPlugin):
    """Airflow shows it under Admin > Plugins, reads DAGs by its timetable, and shows its views."""

    name = "sluice"
    timetables = [OnRequest]  # noqa: RUF012 - Airflow's attribute
    fastapi_apps = APPS
    external_views = VIEWS
