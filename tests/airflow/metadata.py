"""Airflow's REST API in this process, over a database of its own with this repository's DAGs."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airflow.sdk import DAG

REPO = Path(__file__).parents[2]
BUNDLE = "dags-folder"
"""Airflow's name of the DAGs folder."""


@contextmanager
def rest_api(*, own_settings: bool = False) -> Iterator[Any]:
    """A client of /api/v2 and /ui, as a person who may do everything; all modules share one app."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        from airflow.api_fastapi.app import cached_app, purge_cached_app  # noqa: PLC0415 - the home comes first
        from fastapi.testclient import TestClient  # noqa: PLC0415

        fill()
        if own_settings:
            purge_cached_app()
        with TestClient(cached_app(apps="core")) as client:
            yield client
        if own_settings:
            purge_cached_app()


def without_waiting(dag: DAG) -> DAG:
    for task in dag.tasks:
        task.retries, task.retry_delay = 0, timedelta(0)
    return dag


def run_dag(dag: DAG, at: datetime, **conf: Any) -> str:
    """The state of one DAG run in this process, with these values in its form."""
    add_dag(dag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        with no_other_dags():
            state = str(dag.test(logical_date=at, run_conf=conf or None).state)
        gc.collect()  # the Spark provider leaves the output of spark-submit open
        return state


@contextmanager
def no_other_dags() -> Iterator[None]:
    """Within the block the DAGs folder is empty: `dag.test` would read all that are there again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(REPO / "dags" / "none"))
        yield


def add_dag(*dags: DAG):
    """Put more DAGs into the database, which `rest_api` has made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415 - the home comes first

        bag = DagBag(REPO / "dags" / "none", bundle_path=REPO / "dags", bundle_name=BUNDLE)
        for dag in dags:
            dag.fileloc, dag.relative_fileloc = str(REPO / "dags" / "sluice.py"), "sluice.py"
            bag.dags[dag.dag_id] = dag
        sync_bag_to_db(bag, BUNDLE, None)


def forget_events():
    """Forget the announced events: all roots of tests have one generation and asset."""
    from airflow.models.asset import AssetEvent  # noqa: PLC0415 - the home comes first
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        for event in session.query(AssetEvent):
            session.delete(event)


def fill():
    """Put the DAGs into the database as the DAG processor does. The first of a run creates it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Airflow's own
        from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415 - the home comes first

        _create()
        bag = DagBag(REPO / "dags", bundle_path=REPO / "dags", bundle_name=BUNDLE)
        assert bag.import_errors == {}
        sync_bag_to_db(bag, BUNDLE, None)


@cache
def _create():
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415
    from airflow.utils.db import initdb  # noqa: PLC0415

    initdb()
    DagBundlesManager().sync_bundles_to_db()
