"""Options of Spark: Sluice's are refused by name, from anywhere; the others reach Spark."""

from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid, SpecInvalid
from spark_jobs.launch import session, submit
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline, State, spark_options
from spark_jobs.spec.spark_options import OWNED, OWNED_PREFIXES
from tests.harness.refused import fails, has

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
SPEC = registry.load("flight_events")


def with_options(options: dict[str, str]) -> Pipeline:
    fields = {name: getattr(SPEC, name) for name in Pipeline.model_fields}
    return Pipeline(**{**fields, "spark": options})


@pytest.fixture
def settings(tmp_path) -> Settings:
    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").touch()
    (tmp_path / submit.FILES_JAR).touch()
    return Settings("/root", "a:1", tmp_path, "spark://m:7077", "3g")


@pytest.mark.parametrize("name", OWNED)
def test_an_owned_one_is_refused_by_name_with_the_reason(name):
    problems = has(f"[{name!r}]: {OWNED[name]}. Leave it out.")
    with fails(SpecInvalid, "fields_refused", fields="spark", problems=problems):
        with_options({name: "x"})
    told = {"source": "SLUICE_SPARK_CONF", "shown": f"[{name!r}]", "why": OWNED[name]}
    with fails(SettingInvalid, "option_refused", **told):
        spark_options.parse(f"{name}=x", "SLUICE_SPARK_CONF")


@pytest.mark.parametrize("prefix", OWNED_PREFIXES)
def test_a_family_of_owned_ones_is_refused_whatever_its_members_are_called(prefix):
    with fails(SpecInvalid, "fields_refused", fields="spark"):
        with_options({f"{prefix}anything": "x"})


@pytest.mark.parametrize("master", ["local[2]", "spark://m:7077"])
def test_whatever_sluice_sets_is_owned_or_meant_to_be_changed(settings, master):
    set_here = {
        **submit.configuration(settings._replace(master=master)),
        **session.STATIC,
        **session.dynamic(State()),
    }
    free = {name for name in set_here if spark_options.refusal(name, "x") is None}
    address = {"spark.driver.host", "spark.driver.bindAddress"}  # a cluster's are the user's
    others = submit.SCHEDULED if master != "local[2]" else address
    assert free == {*submit.UNREAD, *others}


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.ssl.keyPassword",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
        "spark.executorEnv.AZURE_STORAGE_ACCESS_KEY",
        "spark.executorEnv.AZURE_STORAGE_KEY",
        "spark.executorEnv.MY_API_KEY",
        "spark.executorEnv.PASSWD",
        "spark.hadoop.fs.azure.sas.c.a.blob.core.windows.net",
    ],
)
def test_a_secret_is_refused_and_not_shown(name):
    with fails(SettingInvalid, "option_refused", shown=has(name)) as refused:
        spark_options.parse(f"{name}=canary", "SLUICE_SPARK_CONF")
    assert "canary" not in str(refused.value)


def test_the_rest_of_a_secret_with_a_space_in_it_is_not_shown():
    with pytest.raises(SettingInvalid) as refused:
        spark_options.parse("spark.ssl.keyPassword=hunter2 canary", "SLUICE_SPARK_CONF")
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["spark.executor.memory", "spark.shuffle.sort.bypassMergeThreshold", "spark.sql.shuffle.sas"],
)
def test_what_only_looks_like_a_secret_is_taken(name):
    assert spark_options.refusal(name, "x") is None


@pytest.mark.parametrize(
    ("text", "reason", "told"),
    [
        ("executor.memory=2g", "option_refused", {"why": has("begin with spark.")}),
        ("spark.executor.memory", "option_no_pair", {"word": "spark.executor.memory"}),
        ("spark.executor.memory=", "option_refused", {"why": has("empty")}),
        ("spark.a='b", "options_unreadable", {}),
    ],
)
def test_what_is_no_option_is_refused(text, reason, told):
    with fails(SettingInvalid, reason, **told):
        spark_options.parse(text, "SLUICE_SPARK_CONF")


def test_the_spec_goes_before_the_connection_and_that_before_the_installation(settings):
    a, b, c = (f"spark.executor.{name}" for name in ("memory", "cores", "heartbeatInterval"))
    installed = settings._replace(spark_conf=f"{a}=1g {b}=1 {c}=1s spark.locality.wait=1s")
    connected = installed._replace(
        spark_conf=spark_options.merged(installed.spark_conf, {a: "2g", b: "2"})
    )
    found = submit.configuration(connected, pipeline={a: "3g"})
    assert (found[a], found[b], found[c], found["spark.locality.wait"]) == ("3g", "2", "1s", "1s")


def test_a_value_with_spaces_survives_the_way_to_another_process():
    given = {"spark.a": "x y", "spark.b": "it's=1"}
    assert spark_options.parse(spark_options.render(given), "a test") == given


def test_options_leave_the_state_as_it_is():
    changed = with_options({"spark.executor.memory": "7g"})
    assert changed.spark == {"spark.executor.memory": "7g"}
    assert fingerprint(changed, "4.2.0") == fingerprint(SPEC, "4.2.0")
