"""Where Sluice's wheel is not installed, Airflow finds its plugin by this file.

Airflow imports every .py of a plugins folder that .airflowignore does not name, each as its own
module. So there is no other.
"""

from importlib.metadata import entry_points

if not entry_points(group="airflow.plugins", name="sluice"):  # twice it would be an error
    from sluice_airflow.plugin import SluicePlugin  # noqa: F401 - Airflow looks for the name
