"""Options of the reader: those that a spec may set, and why not the others."""

from pathlib import Path

import pytest

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig
from spark_jobs.source import kafka_reader
from spark_jobs.spec import Pipeline
from spark_jobs.spec.reader_options import ALLOWED, REFUSED, tasks

SPEC = registry.load("flight_events")


def with_options(**options: str) -> Pipeline:
    fields = {name: getattr(SPEC, name) for name in Pipeline.model_fields}
    return Pipeline(**{**fields, "reader_options": options})


def refused(**options: str) -> str:
    with pytest.raises(SpecInvalid) as raised:
        with_options(**options)
    return str(raised.value)


@pytest.mark.parametrize("name", ALLOWED)
def test_one_that_is_allowed_reaches_the_reader_and_leaves_the_state_as_it_is(name):
    spec = with_options(**{name: "77"})
    settings = Settings("/root", "a:1", Path("/jars"), "local[2]", "1g")
    assert kafka_reader._options(settings, spec)[name] == "77"  # noqa: SLF001 - what Spark is told is the point
    assert fingerprint(spec, "4.2.0") == fingerprint(SPEC, "4.2.0")


@pytest.mark.parametrize("name", REFUSED)
def test_one_that_is_refused_says_why(name):
    assert f"reader_options is {{{name!r}: 'x'}}: {REFUSED[name]}. Leave it out." in refused(
        **{name: "x"}
    )


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.jaas.config", "kafka.ssl.key.password", "kafka.security.protocol",
        "kafka.client.id",
    ],
)  # fmt: skip
def test_who_asks_is_not_a_specs_business_and_its_value_is_not_shown(name):
    text = refused(**{name: "canary"})
    assert f"reader_options is [{name!r}]" in text
    assert "SLUICE_KAFKA_CONFIG" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("minpartitions", "Did you mean minPartitions."),
        ("kafka.max.pol.records", "Did you mean kafka.max.poll.records."),
        ("x", "Use one of minPartitions"),
    ],
)
def test_an_unknown_one_is_refused_by_name(name, says):
    assert says in refused(**{name: "1"})


@pytest.mark.parametrize("value", ["", "0", "-1", "1.5", "many", "٣", "2147483648", "9" * 5000])
def test_a_value_is_a_whole_number_greater_than_nothing_that_spark_can_take(value):
    text = refused(minPartitions=value)
    assert f"{{'minPartitions': {value!r}"[:200] in text
    assert ": it is not a whole number greater than 0 and at most 2147483647." in text


def test_the_largest_number_that_spark_can_take_is_taken():
    assert with_options(minPartitions="2147483647").reader_options == {
        "minPartitions": "2147483647"
    }


def test_what_a_task_may_keep_is_less_where_more_tasks_read():
    assert [
        tasks(options, 4) for options in ({}, {"minPartitions": "2"}, {"minPartitions": "16"})
    ] == [4, 4, 16]


def test_spark_is_told_the_declaration_and_the_brokers_of_the_settings():
    config = KafkaConfig.of({"bootstrap.servers": "a:1", "client.id": "sluice"}, "a test")
    options = kafka_reader._options(  # noqa: SLF001
        Settings("/root", "b:2", Path("/jars"), "x", "1g", kafka_config=config), SPEC
    )
    assert (options["kafka.bootstrap.servers"], options["kafka.client.id"]) == ("b:2", "sluice")
