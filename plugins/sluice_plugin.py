"""Airflow's way to find Sluice. It runs every .py under this folder that .airflowignore does not name, as a module of its
own: so this file is the only one, and what it stands for is the package beside it."""

from airflow.plugins_manager import AirflowPlugin


class SluicePlugin(AirflowPlugin):
    """Shown under Admin > Plugins. Views and operator links will be attached to it."""

    name = "sluice"
