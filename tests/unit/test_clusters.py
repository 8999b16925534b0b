"""Several Kafka clusters of one installation: a topic names its own, and a run gets no other."""

import json

import pytest

from spark_jobs.errors import SettingInvalid, SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.offsets.archived import archive_paths
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Archive
from spark_jobs.spec.several import Several
from spark_jobs.storage.root.live_place import first_table
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.unit.specs import pipeline, topic

ORDERS = topic(name="orders", cluster="eu")
EU = pipeline(topic=ORDERS)


@pytest.fixture(autouse=True)
def declared(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "own:1")
    monkeypatch.delenv("SLUICE_KAFKA_CONFIG", raising=False)
    monkeypatch.delenv("SLUICE_KAFKA_CONFIG__EU", raising=False)
    monkeypatch.setenv("SLUICE_KAFKA__EU", "eu:1")


def test_a_pipelines_settings_are_those_of_its_topics_cluster(monkeypatch, tmp_path):
    assert [Settings.of(each).kafka for each in (pipeline(), EU)] == ["own:1", "eu:1"]
    (file := tmp_path / "eu.properties").write_text("bootstrap.servers=eu:2\nclient.id=x\n")
    monkeypatch.setenv("SLUICE_KAFKA_CONFIG__EU", str(file))
    settings = Settings.of(EU)
    assert (settings.kafka, settings.kafka_config.path) == ("eu:2", str(file))
    assert not Settings.of(pipeline()).kafka_config


def test_a_process_that_a_run_starts_has_that_cluster_as_its_own(monkeypatch, tmp_path):
    (file := tmp_path / "own.properties").write_text("bootstrap.servers=own:2\n")
    monkeypatch.setenv("SLUICE_KAFKA_CONFIG", str(file))
    given = Settings.of(EU)
    for name, value in given.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == given


def test_a_cluster_of_which_nothing_is_declared_is_refused_by_its_name():
    variable, connection = "SLUICE_KAFKA__US", "sluice_kafka_us"
    with fails(
        SettingInvalid, "cluster_unknown", cluster="us", variable=variable, connection=connection
    ):
        Settings.of(pipeline(topic=topic(cluster="us")))


@pytest.mark.parametrize("name", ["EU", "e-u", "e__u", "_eu", "eu_", "1eu", "eu\n"])
def test_a_name_that_no_variable_can_have_is_refused(name):
    with pytest.raises(SpecInvalid):
        topic(cluster=name)


def test_an_archive_is_of_its_topics_cluster_and_a_pipeline_of_one():
    archived = ORDERS.model_copy(update={"archive": Archive()})
    assert archive_spec(archived, archived.archive).topic.cluster == "eu"
    with pytest.raises(SpecInvalid):
        pipeline(topics=(ORDERS, topic(name="others")))
    assert Several.of((ORDERS, topic(name="others", cluster="eu"))).cluster == "eu"


def test_topics_of_one_name_in_two_clusters_have_an_archive_each(tmp_path, monkeypatch):
    text = "from tests.unit.specs import pipeline, topic\nfrom spark_jobs.spec import Archive\n"
    text += "SPEC = pipeline(name={0!r}, topic=topic(cluster={1!r}, archive=Archive()))\n"
    clusters = {"eu": "one", "us": "two", "": "three"}
    for cluster, name in clusters.items():
        where = tmp_path / "of_clusters" / name
        where.mkdir(parents=True)
        (where / "spec.py").write_text(text.format(name, cluster))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", "of_clusters")
    specs = [registry.load(name) for name in registry.archives()]
    assert {spec.topic.cluster for spec in specs} == set(clusters)
    assert {(spec.name, first_table(spec)) for spec in specs if not spec.topic.cluster} == {
        ("archive__sales", "sales")
    }
    assert len({str(Paths(str(tmp_path), spec).table) for spec in specs}) == len(clusters)
    own = registry.load("one").topic
    assert archive_paths(tmp_path, own).table == Paths(str(tmp_path), specs[0]).table


def test_state_does_not_depend_on_what_a_cluster_is_called():
    """Another cluster has another topic, which its id tells."""
    one, two = (pipeline(topic=topic(cluster=name)) for name in ("", "eu"))
    assert json.dumps(fingerprint(one, "4.2.0")) == json.dumps(fingerprint(two, "4.2.0"))
