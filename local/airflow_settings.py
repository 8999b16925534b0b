"""The environment of the local Airflow: all of its configuration, and nothing of another Airflow
that this user has.
"""

import json
import os
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
USER = "admin"
MARK = "SLUICE_LOCAL_AIRFLOW"
"""Every process of this Airflow, and whatever they start, has the home in this variable."""


def of_tasks(brokers: str, root: Path) -> dict[str, str]:
    """What a local Airflow's tasks are told of Sluice's installation: this broker, and no
    declaration of another Kafka.

    A declaration that this user has exported would win over the broker, and the local job would
    read, or write, another Kafka.
    """
    return {
        "SLUICE_KAFKA": brokers,
        "SLUICE_ROOT": str(root),
        "SLUICE_KAFKA_CONFIG": "",
        # A worker would wait for runs beside Kafka and Airflow; who wants one says so.
        "SLUICE_WARM": os.environ.get("SLUICE_WARM", "off"),
    }


def environment(home: Path, port: int, *, schedule: bool) -> dict[str, str]:
    """The whole environment of its processes.

    Nothing of another Airflow that this user may have set goes in.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW_", "_AIRFLOW"))
    }
    settings: dict[str, dict[str, object]] = {
        "core": {
            "load_examples": "False",
            "dags_folder": REPO / "dags",
            "plugins_folder": REPO / "plugins",
            "executor": "LocalExecutor",
            "parallelism": max(2, os.cpu_count() or 2),
            "dags_are_paused_at_creation": "False",
            "simple_auth_manager_users": f"{USER}:admin",
            "simple_auth_manager_passwords_file": home / "passwords.json",
            "execution_api_server_url": f"http://127.0.0.1:{port}/execution/",
        },
        "api": {
            "host": "127.0.0.1",
            "port": port,
            "base_url": f"http://127.0.0.1:{port}",
            "workers": 1,
        },
        "database": {"sql_alchemy_conn": f"sqlite:///{home / 'airflow.db'}"},
        "logging": {"base_log_folder": home / "logs"},
        "dag_processor": {"parsing_processes": 1},
        "scheduler": {"use_job_schedule": schedule, "scheduler_idle_sleep_time": 0.5},
    }
    airflow = {
        f"AIRFLOW__{section.upper()}__{key.upper()}": str(value)
        for section, pairs in settings.items()
        for key, value in pairs.items()
    }
    return {
        **inherited,
        **airflow,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW_CONN_SLUICE_SPARK": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "PATH": f"{BIN}{os.pathsep}{inherited.get('PATH', os.defpath)}",
        "PYTHONPATH": str(REPO),
        MARK: str(home),
        # Airflow renames its processes, and would overwrite the mark with the new name.
        "SPT_NOENV": "1",
    }
