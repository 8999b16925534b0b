"""Bundles: Airflow's DAG processor and its tasks have the folders of the DAG bundles on the path.
The API server has not, and its pages need the pipelines' package, which lies there.
"""

from __future__ import annotations

import sys

from airflow.dag_processing.bundles.manager import DagBundlesManager


def on_path() -> None:
    """Append the folders of all bundles that this machine has, in Airflow's order."""
    bundles = DagBundlesManager().get_all_dag_bundles()  # type: ignore[no-untyped-call]  # Airflow's own
    folders = dict.fromkeys(str(bundle.path) for bundle in bundles if bundle.path.is_dir())
    sys.path += [folder for folder in folders if folder not in sys.path]
