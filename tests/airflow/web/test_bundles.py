"""The pages find the pipelines' package where Airflow's DAG processor does: beside the DAGs."""

import json
import sys

import pytest

PACKAGE = "shop_beside_the_dags"
NAME = "orders"
SPEC = f'''
from tests.unit.specs import SPEC as MADE

SPEC = MADE.model_copy(update={{"name": "{NAME}"}})
'''


@pytest.fixture
def beside_the_dags(tmp_path, monkeypatch, server):
    """An API server that begins, with a bundle of two folders; the second has the package."""
    from sluice_airflow.web.mount import APPS  # noqa: PLC0415 - the home comes first

    folder = tmp_path / "dags" / PACKAGE / NAME
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        (each / "__init__.py").touch()
    (folder / "spec.py").write_text(SPEC)
    local = "airflow.dag_processing.bundles.local.LocalDagBundle"
    bundles = [
        {"name": name, "classpath": local, "kwargs": {"path": str(tmp_path / name)}}
        for name in ("not_on_this_machine", "dags")
    ]
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(bundles))
    monkeypatch.setenv("SLUICE_PIPELINES", PACKAGE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(APPS[0]["app"], "_app", None)
    yield str(tmp_path / "dags")
    for module in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
        del sys.modules[module]


def test_pages_are_answered_where_the_package_lies_in_a_bundle_of_dags(get, beside_the_dags):
    for _ in range(2):  # the second is not the one that makes the app
        answer = get("/api/pipelines", NAME)
        assert answer.status_code == 200, answer.text
        assert [line["pipeline"] for line in answer.json()["pipelines"]] == [NAME]
    assert get(f"/pipelines/{NAME}", NAME, page=True).status_code == 200
    assert sys.path.count(beside_the_dags) == 1
    assert not [folder for folder in sys.path if folder.endswith("not_on_this_machine")]
