"""What somebody sees who has written a name, a path or an address wrongly: each of them, where it is."""

import socket
import threading
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import KafkaUnreachable, PipelineUnknown, RootEmpty, SpecInvalid
from spark_jobs.messages.part import NewKey
from spark_jobs.messages.stages import summary
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings
from spark_jobs.source import topic_state
from spark_jobs.spec import Field, Transform
from spark_jobs.spec.analysis.columns import misspelt
from tests.harness import roots
from tests.harness.refused import fails
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline, topic
from tests.unit.test_registry import SPEC, add

TOPIC = """
from spark_jobs.spec import Field, Pipeline, Topic, Transform

TOPIC = Topic(
    name="orders",
    fields=(Field(name="id", type="string"),),
    event_time="made_at",
)
SPEC = Pipeline(name="orders", about="x", topic=TOPIC, steps=(Transform(where="true"),))
"""


def test_validate_names_each_bad_spec_and_judges_the_good_ones(folder):
    add(folder, "bad", "SPEC = None")
    add(folder, "good", SPEC.format(name="good"))
    add(folder, "orders", TOPIC)
    done = CliRunner().invoke(app, ["validate"])
    assert done.exit_code == SpecInvalid.exit_status
    first, second = done.stderr.splitlines()
    assert (first.split()[0], second.split()[0]) == ("SPEC_INVALID", "SPEC_INVALID")
    assert ("bad" in first, "'orders', " in second) == (True, True)
    assert done.stdout.startswith("ok  good")
    some = CliRunner().invoke(app, ["validate", "goood", "good"])
    assert some.exit_code == PipelineUnknown.exit_status
    assert "ok  good" in some.stdout


def test_an_error_of_a_topic_names_pipeline_file_and_line(folder):
    add(folder, "orders", TOPIC)
    line = 1 + TOPIC.splitlines().index("TOPIC = Topic(")
    told = CliRunner().invoke(app, ["validate"]).stderr
    assert f"(pipeline 'orders', {folder.name}/orders/spec.py, line {line})" in told


def test_an_error_of_a_topic_beside_the_pipelines_names_that_file_too(folder):
    topic, spec = TOPIC.split("SPEC =")
    (folder / "topics_of_ours.py").write_text(topic)
    above = "from spark_jobs.spec import Pipeline, Transform\nfrom ..topics_of_ours import TOPIC\n"
    add(folder, "orders", f"{above}SPEC ={spec}")
    told = CliRunner().invoke(app, ["validate"]).stderr
    assert "(pipeline 'orders', " in told
    assert f"{folder.name}/topics_of_ours.py, line " in told


MEASURED = """
from spark_jobs.spec import Aggregate, Pipeline, Transform, Tumbling
from spark_jobs.topics.flights import FLIGHTS

SPEC = Pipeline(
    name="late",
    about="x",
    topic=FLIGHTS,
    watermark_delay="1 hour",
    steps=(
        Transform(where="carier = 'AA' AND delay_minutes IS NOT NULL"),
        Aggregate(
            window=Tumbling(size="1 hour"),
            keys=("carrier",),
            measures={"longest": "max(delay_minuts)", "flights": "count(*)", "mean": "avg(delay_minutes)"},
        ),
    ),
)
"""


def test_validate_says_which_name_in_sql_is_near_to_a_column_and_is_none(folder):
    add(folder, "late", MEASURED)
    done = CliRunner().invoke(app, ["validate"])
    said = [line.partition("  late  ")[2] for line in done.stdout.splitlines()[1:]]
    assert (done.exit_code, [line for line in said if "is no column" in line]) == (
        0,
        [
            "step 1 (transform), where: 'carier' is no column. Did you mean carrier?",
            "step 2 (aggregate), measures['longest']: 'delay_minuts' is no column. "
            "Did you mean delay_minutes?",
        ],
    )


def test_plan_says_it_too_before_it_asks_kafka(folder, monkeypatch, tmp_path):
    add(folder, "late", MEASURED)
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    said = CliRunner().invoke(app, ["plan", "late"]).stdout
    assert said.count("is no column") == 2


CHECKED = MEASURED.replace("carier", "carrier").replace("delay_minuts", "delay_minutes")


@pytest.mark.parametrize(
    ("was", "instead", "close"),
    [
        ('keys=("carrier",)', 'keys=("carier",)', "carrier"),
        (
            "    steps=(",
            """    output_checks=(
        Check(type="expect_column_values_to_not_be_null", kwargs={"column": "longst"}),
    ),
    steps=(""",
            "longest",
        ),
    ],
    ids=["key", "measure in a check"],
)
def test_validate_refuses_a_key_or_a_checks_measure_with_the_nearest_name(
    folder, was, instead, close
):
    spec = CHECKED.replace("import Aggregate", "import Aggregate, Check")
    add(folder, "right", spec.replace('name="late"', 'name="right"'))
    assert CliRunner().invoke(app, ["validate", "right"]).exit_code == 0
    add(folder, "late", spec.replace(was, instead))
    done = CliRunner().invoke(app, ["validate", "late"])
    assert done.exit_code == SpecInvalid.exit_status
    assert f"Did you mean {close}?" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", [*registry.names()])
def test_no_name_of_a_shipped_spec_is_taken_for_a_misspelt_one(name):
    assert [*misspelt(registry.load(name))] == []


@pytest.mark.parametrize(
    ("where", "near"),
    [
        ("cast(amount as date) > date'2026-01-01'", ("gas", "dates")),
        ("case when amount > 0 then true else false end", ("cases", "ends")),
        ("at > now() - interval 1 hour and amount is not null", ("hours", "nulls")),
    ],
)
def test_a_word_of_sql_is_no_column_that_is_misspelt(where, near):
    of = topic(fields=(*FIELDS, *(Field(name=name, type="bigint") for name in near)))
    steps = (Transform(where=f"amuont > 0 or {where}"), deduplicate(), aggregate())
    [line] = misspelt(pipeline(topic=of, steps=steps))
    assert line.endswith("'amuont' is no column. Did you mean amount?")


@pytest.mark.parametrize("words", [["runs"], ["runs", "departure_delays"], ["late"]])
def test_a_root_that_is_not_there_is_no_root_without_rows(tmp_path, monkeypatch, words):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "nowhere"))
    done = CliRunner().invoke(app, ["show", *words])
    assert done.exit_code == RootEmpty.exit_status
    assert str(tmp_path / "nowhere") in done.stderr
    assert not (tmp_path / "nowhere").exists()
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    assert CliRunner().invoke(app, ["show", *words]).exit_code == 0


@contextmanager
def http():
    """What answers everybody as a server of HTTP does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    asked, _ = server.accept()
                except OSError:
                    return
                with asked:
                    asked.recv(100)
                    asked.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_a_server_of_http_is_told_from_a_broker(tmp_path, monkeypatch):
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 1.0)
    with http() as at:
        settings = Settings("/root", at, tmp_path, "local[2]", "1g")
        told = {"error": "a server of HTTP answers there, and no broker", "brokers": at}
        with fails(KafkaUnreachable, "no_broker", **told):
            topic_state.topic_names(settings, "orders")


def test_a_key_that_no_field_names_is_told_by_the_run_alone_and_not_again_by_its_summary():
    key = NewKey.model_construct(path="left_over", records=7, looked_at=7)
    lines = summary(roots.report("orders", new_keys=(key,)))
    assert not [line for line in lines if "left_over" in line]
