"""Sluice's Airflow plugin.

Airflow imports every .py under this folder that .airflowignore does not name, each as its own
module. So this is the only such file; the code is in the package beside it.
"""

from airflow.plugins_manager import AirflowPlugin


class SluicePlugin(AirflowPlugin):
    """Airflow shows it under Admin > Plugins. Later it will have views and operator links."""

    name = "sluice"
