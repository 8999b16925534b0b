"""A DAG that runs once for each day of departure_delays that is final, and again when a repair changed
it.
"""

from airflow.sdk import Asset, PartitionedAssetTimetable, dag, task

DAYS = Asset(name="departure_delays-days", uri="x-sluice://tables/departure_delays/days")


@dag(schedule=PartitionedAssetTimetable(assets=DAYS), catchup=False)
def delays_by_day():
    @task
    def read(dag_run=None, triggering_asset_events=None):
        from datetime import UTC, datetime, timedelta

        from deltalake import DeltaTable, QueryBuilder

        day = datetime.fromisoformat(dag_run.partition_key).replace(tzinfo=UTC)
        events = triggering_asset_events[DAYS]
        published = max((event.extra for event in events), key=lambda told: told["number"])
        table = DeltaTable(published["table"], version=published["table_version"])
        # A window that ends at midnight belongs to the day before.
        start, end = day.isoformat(), (day + timedelta(days=1)).isoformat()
        rows = (
            QueryBuilder()
            .register("delays", table)
            .execute(f"SELECT * FROM delays WHERE window_end > '{start}' AND window_end <= '{end}'")
        )
        return rows.read_all().num_rows

    read()


delays_by_day()
