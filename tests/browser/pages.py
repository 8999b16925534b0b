"""The pages that the tests and the pictures look at, and their addresses."""

from urllib.parse import quote, urlencode

from tests.browser.installation import Installed

OVERVIEW = "/sluice/"
OF_A_PIPELINE = ("coverage", "rejected", "state", "repair")
NAMES = ("overview", "pipeline", "run", *OF_A_PIPELINE, "record", "tab of a DAG", "nothing here")


def address(name: str, installed: Installed) -> str:
    """Of the pipeline that grows: its last run, whose check failed, and its last late record."""
    grows = installed.grows
    of_it = f"/sluice/pipelines/{quote(grows.name)}"
    record = max(grows.late, key=lambda row: row["kafka_timestamp"])
    place = {key: record[key] for key in ("generation", "partition", "offset")}
    run = urlencode({"run_id": grows.run_id(grows.last)})
    return {
        "overview": OVERVIEW,
        "pipeline": of_it,
        "run": f"{of_it}/run?{run}",
        "record": f"{of_it}/rejected?{urlencode({'table': 'late', **place})}",
        "tab of a DAG": f"/sluice/dags/{grows.name}",
        "nothing here": "/sluice/dags/sluice_maintain",
    }.get(name, f"{of_it}/{name}")
