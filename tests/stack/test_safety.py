"""Safe by default: secrets, ports, routes and rights of the stack as it runs."""

import json
import subprocess
from collections.abc import Iterator
from itertools import chain

import httpx
import psutil  # type: ignore[import-untyped, unused-ignore]
import pytest

from tests.harness.patience import patient
from tests.harness.stack import PROJECT, Stack

VOLUMES = {
    "airflow-scheduler": ("/data/logs", "/data/root", "/tmp"),
    "airflow-api": ("/tmp",),
    "postgres": ("/data/postgres",),
    "kafka": ("/data/kafka",),
    "store": ("/data/store/buckets",),
    "spark-worker": ("/tmp/work",),
}
"""Where records, reports, checkpoints, logs and databases lie, and who may reach them."""
MEMORY = {"/tmp/passwords.json", "/tmp/spark/cluster.conf"}
OPEN = {"/api/v2/monitor/health", "/api/v2/version"}
"""What Airflow tells anybody: whether it is healthy, and which one it is."""
PAGES = (
    "/auth/login",
    "/auth/logout",
    "/auth/token",
    "/auth/{rest_of_path:path}",
    "/static",
    "/{rest_of_path:path}",
)
"""The log-in, and the pages' own files, which hold no data."""
DESCRIPTIONS = {
    "/openapi.json", "/auth/openapi.json", "/auth/docs", "/auth/docs/oauth2-redirect",
    "/auth/redoc", "/execution/changelog", "/execution/docs", "/execution/docs/oauth2-redirect",
    "/execution/redoc",
}  # fmt: skip
"""Of the routes: the same for every Airflow of this version."""
ROUTES = """
import json
from airflow.api_fastapi.app import create_app
def walk(app, prefix=""):
    for route in app.routes:
        path = prefix + getattr(route, "path", "")
        if getattr(route, "app", None) is not None and hasattr(route.app, "routes") and not hasattr(route, "methods"):
            yield from walk(route.app, path)
        elif hasattr(route, "methods"):
            yield from ((method, path) for method in route.methods)
print("ROUTES" + json.dumps(sorted(set(walk(create_app())))))
"""


def _said(*words: str) -> bytes:
    return subprocess.run(words, capture_output=True, check=True).stdout


def _texts(stack: Stack) -> Iterator[tuple[str, bytes]]:
    """Everything that can be seen of the stack, each with its place."""
    for container in stack.containers():
        name = container["Name"]
        yield f"inspect {name}", json.dumps(container).encode()
        logs = subprocess.run(["docker", "logs", container["Id"]], capture_output=True, check=True)
        yield f"log of {name}", logs.stdout + logs.stderr
        if container["State"]["Running"]:
            yield f"top {name}", _said("docker", "top", container["Id"], "-eo", "pid,args")
    yield "history", _said("docker", "history", "--no-trunc", "sluice:local")
    yield "config", stack.compose("config").stdout.encode()
    for process in psutil.process_iter(["cmdline"]):
        yield f"process {process.pid}", " ".join(process.info["cmdline"] or []).encode()
    for service, folders in VOLUMES.items():
        for folder in folders:
            # What is in memory, only the container itself sees; tar stops for no file that goes
            # meanwhile.
            within = [
                "docker",
                "exec",
                stack.id(service),
                "tar",
                "--ignore-failed-read",
                "-cf",
                "-",
                *(f"--exclude={path}" for path in MEMORY),
                folder,
            ]
            words = (
                within
                if folder.startswith("/tmp")
                else ["docker", "cp", f"{stack.id(service)}:{folder}", "-"]
            )
            done = subprocess.run(words, capture_output=True, check=False)
            # An archive of an empty folder has bytes, too; none at all means that nobody looked.
            assert done.stdout, f"{service}:{folder} was not searched: {done.stderr[-300:]!r}"
            yield f"{service}:{folder}", done.stdout


def test_no_secret_is_in_any_place_that_can_be_seen(stack):
    canaries = {name: {part.encode() for part in parts} for name, parts in stack.canaries().items()}
    assert all(parts and all(len(part) >= 32 for part in parts) for parts in canaries.values())
    searched = 0
    found = []
    for place, text in _texts(stack):
        searched += len(text)
        found += [
            f"{name} in {place}"
            for name, parts in canaries.items()
            if any(part in text for part in parts)
        ]
    assert found == []
    assert searched > 10 * 2**20, "the volumes were not searched"


def test_no_port_is_open_off_loopback(stack):
    published = [
        binding
        for container in stack.containers()
        for binding in chain.from_iterable(
            filter(None, container["NetworkSettings"]["Ports"].values())
        )
    ]
    assert published == [{"HostIp": "127.0.0.1", "HostPort": str(stack.port)}]
    proxies = [
        line
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "docker-proxy"
        for line in [" ".join(process.info["cmdline"])]
        if str(stack.port) in line
    ]
    assert all("-host-ip 127.0.0.1" in line for line in proxies)


def test_containers_are_nobody_special(stack):
    for container in stack.containers():
        user, host = container["Config"]["User"], container["HostConfig"]
        assert user.split(":")[0] not in {"", "0", "root"}, container["Name"]
        assert host["CapDrop"] == ["ALL"]
        assert host["ReadonlyRootfs"] is True
        assert host["Memory"] > 0
        assert host["NanoCpus"] > 0


def test_networks_but_the_uis_are_internal(stack):
    names = subprocess.run(
        f"docker network ls --filter label=com.docker.compose.project={PROJECT} "
        "--format {{.Name}}".split(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    told = json.loads(
        subprocess.run(
            ["docker", "network", "inspect", *names], capture_output=True, check=True
        ).stdout
    )
    assert {network["Name"]: network["Internal"] for network in told} == {
        f"{PROJECT}_ui": False,
        f"{PROJECT}_metadata": True,
        f"{PROJECT}_data": True,
        f"{PROJECT}_views": True,
    }


def test_no_route_of_airflow_answers_whoever_has_no_token(stack):
    text = stack.python("airflow-api", ROUTES)
    routes = json.loads(text.rpartition("ROUTES")[2])
    assert len(routes) > 100
    answered = []
    with httpx.Client(base_url=f"http://127.0.0.1:{stack.port}", timeout=patient(60)) as client:
        for method, path in routes:
            if path in PAGES or path.startswith("/auth/static") or method in {"HEAD", "OPTIONS"}:
                continue
            answer = client.request(
                method, path.replace("{", "").replace("}", "").replace(":path", "")
            )
            if answer.is_success:
                answered.append(path)
    assert set(answered) <= OPEN | DESCRIPTIONS


def test_the_pages_of_spark_answer_nobody_but_their_own_container(stack):
    # The master's RPC first: where nothing can be reached at all, nothing is held. A name that is
    # not known is an error.
    code = (
        "import socket\nfor host, port in (('spark-master', 7077), ('spark-master', 8081), "
        "('spark-worker', 8082)):\n"
        "    socket.getaddrinfo(host, port)\n"
        "    try: socket.create_connection((host, port), 5); print('open')\n    except OSError: "
        "print('refused')"
    )
    assert stack.python("airflow-scheduler", code).split() == ["open", "refused", "refused"]


@pytest.mark.parametrize(
    ("user", "rights"), [("sluice", "read"), ("views", "describe"), ("producer", "write")]
)
def test_kafkas_users_have_no_right_but_one(stack, user, rights):
    code = f"""
from confluent_kafka.admin import *
from pathlib import Path
pem = "/run/secrets/kafka_admin"
admin = AdminClient({{"bootstrap.servers": "kafka:9094", "security.protocol": "SSL", "ssl.ca.location": "/run/secrets/kafka_ca",
                     "ssl.certificate.location": pem, "ssl.key.location": pem}})
found = admin.describe_acls(AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, "User:{user}", None,
                            AclOperation.ANY, AclPermissionType.ANY)).result(60)
print(sorted((acl.restype.name, acl.name, acl.operation.name.lower()) for acl in found))
"""
    said = stack.compose("run", "--rm", "--no-deps", "topics", "python", "-c", code).stdout
    assert said.strip().splitlines()[-1] == f"[('TOPIC', 'flights', '{rights}')]"


@pytest.mark.parametrize(("user", "writes"), [("sluice", "200"), ("views", "403")])
def test_the_stores_users_have_no_right_outside_its_bucket(stack, user, writes):
    code = f"""
from local.stack import bucket
keys = bucket.Keys.read(bucket.SECRETS / "store_{user}")
for words in (("PUT", "/another"), ("GET", "/another"), ("PATCH", "/list-users"), ("PUT", "/sluice", {{"policy": ""}}, "{{}}"),
              ("PUT", "/sluice/of-a-test"), ("GET", "/sluice", {{"list-type": "2"}})):
    try: print(bucket._asked(keys, *words))
    except bucket.StoreError as error: print(str(error).split(": ")[1].split()[0])
"""
    made = (
        "from local.stack import bucket\nbucket._asked(bucket.Keys.read(bucket.SECRETS / "
        "'store_root'), 'PUT', '/another')"
    )
    stack.compose("run", "--rm", "--no-deps", "bucket", "python", "-c", made)
    said = stack.compose("run", "--rm", "--no-deps", "bucket", "python", "-c", code).stdout
    assert said.split()[-6:] == ["403", "403", "403", "403", writes, "200"]


def test_the_api_server_reaches_of_the_data_no_more_than_its_pages_read(stack):
    code = """
import socket, sys
for place in sys.argv[1:]:
    host, port = place.split(":")
    try: socket.create_connection((host, int(port)), 5); print("open")
    except OSError: print("refused")
"""
    seen = ("store:7070", "kafka:9092", "spark-master:7077", "spark-worker:8082")
    said = stack.compose("exec", "-T", "airflow-api", "python", "-c", code, *seen).stdout
    assert said.split() == ["open", "open", "refused", "refused"]
    said = stack.compose("exec", "-T", "spark-worker", "python", "-c", code, "airflow-api:8080")
    assert said.stdout.split() == ["refused"]
