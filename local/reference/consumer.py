"""A DAG that runs whenever departure_delays is published, and reads exactly the version that passed
its checks.
"""

from airflow.sdk import Asset, dag, task

DELAYS = Asset(name="departure_delays", uri="x-sluice://tables/departure_delays")


@dag(schedule=[DELAYS], catchup=False)
def delays_of_the_day():
    @task
    def read(triggering_asset_events=None):
        from deltalake import DeltaTable

        # The highest number is the newest. One that was read before was told twice.
        events = triggering_asset_events[DELAYS]
        published = max((event.extra for event in events), key=lambda told: told["number"])
        table = DeltaTable(published["table"], version=published["table_version"])
        return table.to_pyarrow_table().num_rows

    read()


delays_of_the_day()
