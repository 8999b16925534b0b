"""The lag group's prefix: roots that share a cluster's brokers have their own."""

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.settings.installation import Settings, lag_group
from tests.harness.refused import fails


@pytest.mark.parametrize(
    ("given", "prefix"),
    [("off", ""), ("on", "sluice"), ("prod.eu", "prod.eu"), ("no-lag", "no-lag")],
)
def test_it_is_sluice_or_what_is_given(monkeypatch, given, prefix):
    monkeypatch.setenv("SLUICE_KAFKA", "broker:9092")
    monkeypatch.setenv("SLUICE_ROOT", "/data")
    monkeypatch.setenv("SLUICE_LAG_GROUP", given)
    assert lag_group() == prefix
    Settings.from_environment()


@pytest.mark.parametrize("given", ["ON", "true", "No", "0", "a b", "a" * 61])
def test_what_looks_like_a_switch_or_no_group_can_be_called_is_refused(monkeypatch, given):
    monkeypatch.setenv("SLUICE_KAFKA", "broker:9092")
    monkeypatch.setenv("SLUICE_ROOT", "/data")
    monkeypatch.setenv("SLUICE_LAG_GROUP", given)
    assert not lag_group()
    with fails(SettingInvalid, "choice_unknown"):
        Settings.from_environment()
