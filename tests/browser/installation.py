"""An Airflow over the root of written.py: what the tests of this folder look at. No task runs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from local import airflow
from local.airflow_api import Api
from tests.browser import written
from tests.harness.roots import ROOT

NO_BROKER = "127.0.0.1:9"


class Installed(NamedTuple):
    """Where Airflow is, and what was written: the pipeline that grows, and one that is well."""

    airflow: airflow.Airflow
    grows: written.History
    well: written.History


@contextmanager
def installation(folder: Path) -> Iterator[Installed]:
    """Started while the root is written."""
    home, root = folder / "airflow", folder / ROOT
    variables = {
        "SLUICE_KAFKA": NO_BROKER,
        "SLUICE_ROOT": str(root),
        "SLUICE_RECORD_BYTES": "shown",
    }
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(airflow.start, home, variables, schedule=False)
        try:
            grows, well = written.write(root)
            running = starting.result()
            with Api(running) as api:
                api.await_dags({grows.name, well.name, f"{grows.name}__backfill"})
            yield Installed(running, grows, well)
        finally:
            starting.exception()
            airflow.stop(home)
