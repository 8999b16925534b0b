"""A run that told several events: OpenLineage has all of their account."""

from sluice_airflow.lineage.facets import PUBLICATION
from spark_jobs.messages.report import Account
from tests.unit.drains import SPEC


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
