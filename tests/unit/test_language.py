"""A run on a Turkish machine: JVMs and Python have one language, encoding and time zone."""

import os
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from local.jvm import SMALL
from spark_jobs.launch import submit
from spark_jobs.settings.installation import Settings
from spark_jobs.values.pinned import VARIABLES
from tests.harness.patience import patient
from tests.harness.ran import python

TURKISH = (
    "-Duser.language=tr -Duser.country=TR -Dfile.encoding=ISO-8859-9 -Duser.timezone=Asia/Istanbul"
)
SPARK = Path(pyspark.__file__).parent / "jars"


@pytest.fixture
def settings(tmp_path) -> Settings:
    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").touch()
    return Settings("/root", "a:1", tmp_path, "local[2]", "3g")


def test_a_jvm_on_a_turkish_machine_computes_as_any_other(settings, monkeypatch):
    """By the function with which Spark computes upper(), in a JVM with the options of a run."""
    options = submit.configuration(settings._replace(master="spark://m:7077"))
    ours, of_driver = (
        [word for word in options[f"spark.{process}.extraJavaOptions"].split() if "-D" in word]
        for process in ("executor", "driver")
    )
    assert {*ours} <= {*of_driver}
    monkeypatch.setenv("JDK_JAVA_OPTIONS", TURKISH)
    port = launch_gateway(
        classpath=f"{SPARK}/*", javaopts=[*SMALL, *ours], die_on_exit=True, redirect_stderr=None
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        java: Any = gateway.jvm
        text = java.org.apache.spark.unsafe.types.UTF8String.fromString("i é")
        upper = getattr(java.org.apache.spark.sql.catalyst.util, "CollationSupport$Upper")
        assert upper.exec(text, 0, True).toString() == "I É"
        assert java.java.nio.charset.Charset.defaultCharset().name() == "UTF-8"
        assert java.java.util.TimeZone.getDefault().getID() == "UTC"
    finally:
        gateway.shutdown()


def test_a_python_process_opens_files_in_utf_8_and_tells_time_in_utc(settings):
    program = (
        "import locale, time, sys; "
        "print(locale.getpreferredencoding(), locale.setlocale(locale.LC_ALL, ''), time.tzname[0],"
        " sys.flags.utf8_mode)"
    )
    machine = {"LC_ALL": "tr_TR.ISO-8859-9", "TZ": "Asia/Istanbul", "PYTHONUTF8": "0"}
    said = python(
        program, env={**os.environ, **machine, **submit.environment(settings)}, timeout=patient(60)
    )
    assert said.stdout.split() == ["utf-8", "C.UTF-8", "UTC", "1"]


def test_executors_get_the_variables_too(settings):
    options = submit.configuration(settings._replace(master="spark://m:7077"))
    assert {name: options[f"spark.executorEnv.{name}"] for name in VARIABLES} == VARIABLES
