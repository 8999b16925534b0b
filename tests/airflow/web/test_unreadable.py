"""What a page says whose data cannot be read: which, why and what to do; and never that there is none."""

import html
import json
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from spark_jobs.errors import RootUnreachable
from spark_jobs.ops import ops_tables
from spark_jobs.source import topic_state
from spark_jobs.storage.root.store import opened
from tests.airflow.web.written import MINE, OTHER, addresses
from tests.harness.object_store import NOT_TESTED, ObjectStore, binary, running
from tests.harness.refused import fails
from tests.harness.turns import alike

pytestmark = alike("a page without its root")

NONE = re.compile(r"none yet|no run yet|No run yet|>none<|no runs|no rows|Nobody has read it")
"""Of pages: that there is nothing."""
OF_NO_ROOT = ("/static/", "/api/openapi.json", f"/pipelines/{MINE}/repair")
"""Routes that ask the root for nothing, and the form of a repair."""


def reading() -> list[str]:
    """An address of each route that reads the root."""
    found = [each for each in addresses(MINE) if not each.startswith(OF_NO_ROOT)]
    assert len(found) > 20
    return found


def policy(user: str, bucket: str, *actions: str) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": [user]},
        "Action": [f"s3:{each}" for each in actions],
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def get(get) -> Callable[..., Any]:
    """To where addresses of before lead."""
    return partial(get, follow_redirects=True)


@pytest.fixture(autouse=True)
def nothing_is_kept(server, monkeypatch):
    from sluice_airflow.web import ops  # noqa: PLC0415 - the home comes first
    from sluice_airflow.web.asked import Asked  # noqa: PLC0415
    from spark_jobs.ops.results import Results  # noqa: PLC0415

    monkeypatch.setattr(ops, "RESULTS", Results(2**20))
    monkeypatch.setattr(ops, "ASKED", Asked("pipelines of", ops.ASKED.wait, ops.ASKED.counts))


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Iterator[ObjectStore]:
    if binary() is None:
        pytest.skip(NOT_TESTED)
    with running(tmp_path_factory.mktemp("store")) as started:
        yield started


@pytest.fixture(scope="module")
def bucket(store, root) -> str:
    """With a copy of the root. Who reads it has the documented policy of a reader."""
    name = store.bucket()
    client = store.client()
    for file in root.rglob("*"):
        if file.is_file():
            client.put_object(
                Bucket=name, Key=f"root/{file.relative_to(root)}", Body=file.read_bytes()
            )
    return name


@pytest.fixture
def declared(monkeypatch, store) -> Callable[..., ObjectStore]:
    """Tell the API server of a root on the store, as a user with these rights and no other."""
    from s3fs import S3FileSystem  # noqa: PLC0415 - the home comes first

    def declare(bucket: str, *actions: str, prefix: str = "root", **more: str) -> ObjectStore:
        S3FileSystem.clear_instance_cache()
        user = store._replace(access_key=secrets.token_hex(8), secret_key=secrets.token_hex(16))
        store.user(user.access_key, user.secret_key)
        if actions:
            text = policy(user.access_key, bucket, *actions)
            store.client().put_bucket_policy(Bucket=bucket, Policy=text)
        for name, value in (
            user.variables | {"SLUICE_ROOT": f"s3://{bucket}/{prefix}"} | more
        ).items():
            monkeypatch.setenv(name, value)
        return user

    return declare


def told(get: Callable[..., Any], code: str, *words: str):
    """That every route says this, in JSON and on its page."""
    for address in reading():
        answer, page = get(address), get(address, page=True)
        text = html.unescape(page.text)
        assert (answer.status_code, page.status_code) == (503, 503), (address, answer.text)
        assert answer.json()["code"] == code, (address, answer.text)
        assert answer.json()["remedy"], address
        assert NONE.search(text) is None, (address, text)
        for word in words:
            assert word in answer.json()["what"] + answer.json()["remedy"], address
            assert word in text if "/api/" not in address else True, address


def test_every_page_is_read_by_a_key_that_may_only_get_and_list(get, declared, bucket, store):
    declared(bucket, "GetObject", "ListBucket")
    before = [*store.client().list_objects_v2(Bucket=bucket)["Contents"]]
    for address in addresses(MINE):
        assert get(address).status_code == 200, (address, get(address).text)
    assert get("/api/pipelines").json()["pipelines"][0]["lacking"] is None
    assert [*store.client().list_objects_v2(Bucket=bucket)["Contents"]] == before


def test_a_store_that_is_gone_is_told_on_every_page(get, declared, bucket):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        at = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        declared(bucket, AWS_ENDPOINT_URL=at)
        told(get, "ROOT_UNREACHABLE", at, "there was no connection to it", "AWS_ENDPOINT_URL")


def test_a_store_that_says_nothing_is_told_and_does_not_hold_up_what_needs_none(
    get, declared, bucket, monkeypatch
):
    from sluice_airflow.web import ops  # noqa: PLC0415 - the home comes first
    from sluice_airflow.web.asked import Asked  # noqa: PLC0415

    monkeypatch.setattr(ops, "ASKED", Asked("pipelines of", wait=0.5, counts=60.0))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        at = f"http://127.0.0.1:{silent.getsockname()[1]}"
        declared(bucket, AWS_ENDPOINT_URL=at)
        began = time.monotonic()
        told(get, "ROOT_UNREACHABLE", f"s3://{bucket}/root", "has not answered in 0.5 seconds")
        each = (time.monotonic() - began) / len(reading()) / 2
        assert each < 0.3, "pages wait one after the other"
        assert get("/static/sluice.css").status_code == 200
        assert get(f"/pipelines/{MINE}/repair", page=True).status_code == 200


def test_the_question_to_a_silent_store_ends_before_a_page_gives_up(declared, bucket, monkeypatch):
    from sluice_airflow.web import ops  # noqa: PLC0415 - the home comes first
    from spark_jobs.storage import object_store  # noqa: PLC0415

    assert ops.ASKED.wait > object_store.CONNECT_SECONDS
    monkeypatch.setattr(object_store, "CONNECT_SECONDS", 1)
    monkeypatch.setitem(object_store.ONCE, "retry_timeout", timedelta(seconds=1))
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        declared(bucket, AWS_ENDPOINT_URL=f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with fails(RootUnreachable, "no_answer", meaning="it did not answer in time"):
            object_store.folders_in(f"s3://{bucket}/root")
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("actions", [(), ("ListBucket",), ("GetObject",)])
def test_a_key_without_a_right_is_told_on_every_page(get, declared, bucket, actions):
    user = declared(bucket, *actions)
    told(get, "ROOT_REFUSED", "it does not allow the request", "docs/deploy.md")
    for address in reading():
        assert user.access_key not in get(address, page=True).text


def test_a_wrong_secret_and_a_missing_bucket_are_told_apart(get, declared, bucket):
    declared(bucket, "GetObject", "ListBucket", AWS_SECRET_ACCESS_KEY="another")
    told(get, "ROOT_REFUSED", "the secret key does not match")
    declared("nowhere")
    told(get, "ROOT_REFUSED", "the bucket does not exist")


def test_a_root_in_which_nobody_has_written_is_not_one_without_runs(get, declared, bucket):
    declared(bucket, "GetObject", "ListBucket", prefix="another")
    empty(get, f"No run has written to s3://{bucket}/another.")


def test_a_folder_that_is_not_there_is_told(get, monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "nowhere"))
    empty(get, f"{tmp_path}/nowhere does not exist on this machine")
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    empty(get, f"No run has written to {tmp_path}.")


def empty(get: Callable[..., Any], word: str):
    """That every page says this; the overview beside each pipeline."""
    for address in reading():
        answer, page = get(address), get(address, page=True)
        text = html.unescape(page.text)
        whole = address in ("/", "/api/pipelines")
        assert (answer.status_code, page.status_code) == ((200,) * 2 if whole else (503,) * 2)
        assert word in text if "/api/" not in address else word in answer.text, address
        assert "the workers' SLUICE_ROOT" in html.unescape(answer.text), address
        assert NONE.search(text) is None, (address, text)
    found = get("/api/pipelines").json()
    assert word in found["lacking"]
    [line] = found["pipelines"]
    assert (line["pipeline"], line["late"], line["runs"]) == (MINE, None, [])


def test_a_root_without_a_pipeline_that_airflow_has_drained_is_another_root(
    get, root, tmp_path, monkeypatch
):
    """And of one that Airflow has not drained either, a page may say that there is no run yet."""
    other = tmp_path / "other"
    shutil.copytree(root, other)
    shutil.rmtree(other / "checkpoints" / MINE)
    for table in (other / "ops").iterdir():
        ops_tables.remove(opened(str(other)), table.name, f"pipeline = '{MINE}'")
    monkeypatch.setenv("SLUICE_ROOT", str(other))
    assert "no run yet" in get("/", page=True).text
    assert get(f"/api/pipelines/{MINE}/runs").json()["runs"] == []
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "nowhere"))
    with a_drain_of(MINE):
        assert f"nowhere has nothing of {MINE}. Airflow has" in get("/", page=True).text
        assert (
            get(f"/pipelines/{MINE}")
            .json()["what"]
            .endswith("Airflow has drains of it that succeeded.")
        )
    monkeypatch.setenv("SLUICE_ROOT", str(other))
    with a_drain_of(MINE):
        text = html.unescape(get("/", page=True).text)
        assert f"{other} has nothing of {MINE}. Airflow has drains" in text
        assert NONE.search(text) is None
        for address in reading():
            if address not in ("/", "/api/pipelines"):
                answer = get(address)
                assert (answer.status_code, answer.json()["code"]) == (503, "ROOT_EMPTY"), address


def test_a_run_that_airflow_knows_and_the_root_does_not_is_not_one_that_has_not_begun(get):
    of_run = f"/dags/{MINE}/runs/scheduled__of_another_root"
    assert "No run yet" in get(of_run, page=True).text
    with a_drain_of(MINE):
        assert get(of_run).json()["code"] == "ROOT_EMPTY"
        assert "SLUICE_HISTORY_DAYS" in get(of_run, page=True).text


def test_where_no_root_is_set_every_page_names_the_variable(get, monkeypatch):
    from spark_jobs.settings import roots  # noqa: PLC0415

    monkeypatch.setattr(roots, "DEFAULT_ROOT", None)
    monkeypatch.delenv("SLUICE_ROOT")
    told(get, "SETTING_INVALID", "SLUICE_ROOT")


@pytest.mark.parametrize("table", ["runs", "late", "batches"])
def test_a_damaged_file_of_one_pipeline_hides_no_other(get, root, table):
    [file, *_] = (root / "ops" / table / f"pipeline={OTHER}").glob("*.parquet")
    with damaged(file, b"PAR1"):
        lines = get("/api/pipelines", "everything").json()["pipelines"]
        known = {each["pipeline"]: each for each in lines}
        assert known[OTHER]["lacking"].startswith("OPS_UNREADABLE")
        assert f"/ops/{table}" in known[OTHER]["lacking"]
        assert (known[MINE]["lacking"], len(known[MINE]["runs"])) == (None, 3)
        assert known[OTHER]["lacking"] in html.unescape(get("/", "everything", page=True).text)
        assert get(f"/api/pipelines/{MINE}/runs").json()["runs"]
        of_it = f"/pipelines/{OTHER}{'/late' if table == 'late' else ''}"
        answer = get(of_it, "everything", page=True)
        assert (answer.status_code, "from a backup" in answer.text) == (503, True)


def test_a_damaged_checkpoint_of_one_pipeline_is_told_in_its_line(get, root):
    [note] = (root / "checkpoints" / MINE).glob("v*/identity.json")
    with damaged(note, b"{"):
        [line] = get("/api/pipelines").json()["pipelines"]
        assert line["lacking"].startswith("CHECKPOINT_BROKEN")
        assert (line["late_waiting"], line["late"], len(line["runs"])) == (None, 1, 3)
        assert "CHECKPOINT_BROKEN" in get("/", page=True).text


def test_a_table_whose_log_is_damaged_is_named_by_what_reads_it(get, root):
    for table in ("runs", "late"):
        for log in (root / "ops" / table / "_delta_log").glob("*.json"):
            log.rename(log.with_suffix(".aside"))
            log.write_bytes(b'{"nonsense')
        try:
            answers = {address: get(address) for address in reading()}
            said = {a: each.json() for a, each in answers.items() if each.status_code != 200}
            assert {each["code"] for each in said.values()} == {"OPS_UNREADABLE"}, table
            assert all(f"/ops/{table}" in each["what"] for each in said.values())
            assert "backup" in html.unescape(get(min(said), page=True).text)
        finally:
            for log in (root / "ops" / table / "_delta_log").glob("*.aside"):
                log.rename(log.with_suffix(".json"))


def test_a_kept_state_that_does_not_parse_is_not_one_that_nobody_has_read(get, root):
    [kept] = (root / "checkpoints" / MINE).glob("v*/state.json")
    with damaged(kept, b"{"):
        page = get(f"/pipelines/{MINE}/state", page=True)
        assert (page.status_code, NONE.search(page.text)) == (503, None)
        assert f"sluice state {MINE} --keep" in page.text
        assert get(f"/api/pipelines/{MINE}/state").json()["code"] == "STATE_UNREADABLE"


def test_a_run_whose_report_is_of_a_newer_sluice_says_so_and_counts_by_its_batches(get, root):
    where = f"run_id = 'scheduled__2+00:00-try1' AND pipeline = '{MINE}'"
    [row] = ops_tables.query(
        opened(str(root)), "runs", f"SELECT * FROM runs WHERE {where}"
    ).to_pylist()
    newer = row | {"report": '{"report_version": 99}'}
    ops_tables.replace(opened(str(root)), "runs", [newer], where)
    address = f"/pipelines/{MINE}/run?run_id=scheduled__2%2B00:00-try1"
    try:
        found = get(f"/api{address}").json()
        assert found["lacking"].startswith("FORMAT_NEWER")
        assert (found["account"]["read"], found["account"]["accepted"]) == (100, 90)
        assert "FORMAT_NEWER" in get(address, page=True).text
    finally:
        ops_tables.replace(opened(str(root)), "runs", [row], where)


@pytest.mark.parametrize(
    ("brokers", "said"),
    [("", "SETTING_INVALID: SLUICE_KAFKA"), ("127.0.0.1:{closed}", "KAFKA_UNREACHABLE")],
)
def test_coverage_says_why_kafka_did_not_tell(get, monkeypatch, brokers, said):
    from sluice_airflow.web import reach  # noqa: PLC0415 - the home comes first
    from sluice_airflow.web.asked import Asked  # noqa: PLC0415

    monkeypatch.setattr(reach, "ASKED", Asked("offsets", wait=20.0, counts=60.0))
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("SLUICE_KAFKA", brokers.format(closed=nobody.getsockname()[1]))
        page = get(f"/pipelines/{MINE}/coverage", page=True)
    assert (page.status_code, f"is not known here. {said}" in page.text) == (200, True), page.text


def test_an_error_that_nobody_foresaw_is_a_page_without_its_text(get, server, monkeypatch):
    from sluice_airflow.web import over_roots  # noqa: PLC0415 - the home comes first

    def fail(*_: Any):
        raise ValueError("secret of a person")

    monkeypatch.setattr(over_roots.overviews, "lines", fail)
    monkeypatch.setattr(server._transport, "raise_server_exceptions", False)  # noqa: SLF001
    for page in (False, True):
        answer = get("/" if page else "/api/pipelines", page=page)
        assert (answer.status_code, "ValueError" in answer.text) == (500, True)
        assert "secret" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]


@contextmanager
def damaged(file: Path, content: bytes) -> Iterator[None]:
    """The file with this content, until the block ends."""
    whole = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(whole)


@contextmanager
def a_drain_of(pipeline: str) -> Iterator[None]:
    """Airflow's metadata have a drain of it that succeeded, until the block ends."""
    from airflow.models.dagrun import DagRun  # noqa: PLC0415 - the home comes first
    from airflow.models.taskinstance import TaskInstance  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415
    from airflow.utils.types import DagRunType  # noqa: PLC0415
    from sqlalchemy import insert  # noqa: PLC0415

    named = {"dag_id": pipeline, "run_id": "scheduled__of_another_root"}
    run = DagRun(
        **named, state="success", run_type=DagRunType.SCHEDULED, run_after=datetime.now(UTC)
    )
    task = named | {
        "id": uuid4(), "task_id": "drain", "state": "success", "map_index": -1, "try_number": 1,
        "max_tries": 0, "pool": "default_pool", "pool_slots": 1, "priority_weight": 1,
        "span_status": "not_started",
    }  # fmt: skip
    with create_session() as session:
        session.add(run)
        session.flush()
        session.execute(insert(TaskInstance.__table__).values(**task))
    try:
        yield
    finally:
        with create_session() as session:
            session.query(TaskInstance).filter_by(**named).delete()
            session.query(DagRun).filter_by(**named).delete()
