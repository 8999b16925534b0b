"""A run that told several events: OpenLineage has all of their account."""

from sluice_airflow.lineage.facets import PUBLICATION
from spark_jobs.messages.offset_account import Account
from tests.unit.drains import SPEC
from tests.unit.folders import Folder


def test_the_accounts_repairs_and_decisions_of_all_events_are_told():
    from sluice_airflow.lineage import tasks  # noqa: PLC0415 - the home comes first
    from sluice_airflow.lineage.datasets import Datasets  # noqa: PLC0415 - as above

    def event(number, read, **more):
        usual = {"run_id": f"r{number}", "generation": "g1", "table_version": number}
        usual |= {"table_version_before": number - 1, "decisions": [], "repairs": []}
        account = Account(read=read, accepted=read).row()
        return usual | {"account": account, "published_table": None} | more

    told = [event(4, 3, repairs=[{"repair_id": "mend"}]), event(5, 4)]
    data = Datasets(SPEC, "/data/root", "broker:9092")
    facet = tasks.of_publication(data, told).run_facets[PUBLICATION]
    assert (facet.runId, facet.tableVersionBefore, facet.tableVersion) == ("r5", 3, 5)
    assert (facet.account["read"], facet.repairs) == (7, ["mend"])
    assert tasks.of_publication(data, []).run_facets == {}


def test_a_folder_of_files_is_a_dataset_of_its_file_system_whoever_knows_brokers(tmp_path):
    from sluice_airflow.lineage.datasets import Datasets  # noqa: PLC0415 - as above

    made = Folder(tmp_path)
    for brokers in ("", "broker:9092"):
        [read] = Datasets(made.spec, made.root, brokers).topic(None)
        assert (read.namespace, read.name) == ("file", str(made.folder))
