"""The pipeline's code failed: which line it was, whichever way Spark tells it, and how to go on."""

import importlib
import stat
from pathlib import Path
from typing import Any

import pytest

from spark_jobs import pipelines
from spark_jobs.errors import StateIncompatible
from spark_jobs.registry.fingerprint.code import code_digest
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.steps.timers import InitErrors

WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: An
exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/srv/spark_jobs/sink/writer.py", line 86, in write
py4j.protocol.Py4JJavaError: An error occurred while calling o802.writeFiles.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030
Caused by: org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 3622, in main
    process()
  File "/opt/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/sql/pandas/serializers.py", line 1552, in flatten_iterator
    row_as_dict = row.asDict(True)
{frames}{error}

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:665)
Caused by: java.lang.IllegalStateException: of no interest
 SQLSTATE: 39000
=== Streaming Query ===
"""
TIMERS = '  File "/srv/spark_jobs/steps/timers.py", line 61, in handleInputRows\n    return x\n'
DECODE = '  File "/srv/spark_jobs/decode/decoder.py", line 61, in rows\n    return x\n'
RULES = '  File "/code/spark_jobs/pipelines/shared/rules.py", line 7, in bound\n    return x\n'
LOGIC = """from ..shared.rules import bound


def made(name):
    def handler():
        pass

    return handler


class Shops:
    def handleExpiredTimer(self, key, timers, info):
        pass
"""


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    """The code of the pipeline `mine`."""
    for name, text in (("mine/logic.py", LOGIC), ("shared/rules.py", "def bound():\n    pass\n")):
        (path := tmp_path / name).parent.mkdir()
        path.write_text(text)
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])
    return tmp_path


def told(error: str, frames: str = "") -> str:
    return str(translate_error(RuntimeError(WORKER.format(error=error, frames=frames)), "mine"))


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (
            "TypeError: Shops.handleExpiredTimer() got an unexpected keyword argument 'timerValues'",
            "mine/logic.py line 12, in handleExpiredTimer",
        ),
        (
            "TypeError: made.<locals>.handler() takes 0 positional arguments but 4 were given",
            "mine/logic.py line 5, in handler",
        ),
        ("TypeError: bound() missing 1 required positional argument: 'x'", "shared/rules.py line 1, in bound"),
    ],
)  # fmt: skip
def test_a_function_that_could_not_be_called_is_named_with_its_line(mine, error, place):
    assert told(error, TIMERS).startswith(f"PROCESSOR_FAILED: {place}: TypeError: ")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("AssertionError", "AssertionError Correct the code."),
        ("ValueError: one\ntwo: three\nfour", "ValueError: one Correct the code."),
        ("mine.logic.TooMany: 5", "TooMany: 5 Correct the code."),
    ],
)
def test_an_error_without_a_message_or_with_several_lines_is_told_by_its_first(mine, error, said):
    assert told(error, RULES).startswith(
        f"PROCESSOR_FAILED: shared/rules.py line 7, in bound: {said}"
    )


def test_an_error_of_init_that_spark_loses_is_told_from_what_was_kept(mine):
    spark = RuntimeError("[STREAM_FAILED] driver worker exited unexpectedly (crashed)")
    lost = f"Traceback (most recent call last):\n{RULES}KeyError: 'boom'\n"
    assert str(translate_error(spark, "mine", lost)).startswith(
        "PROCESSOR_FAILED: shared/rules.py line 7, in bound: KeyError: 'boom' Correct"
    )
    assert translate_error(spark, "mine").code == "SPARK_FAILED"


def test_an_error_outside_of_a_task_is_kept_once_for_its_owner_alone():
    errors = InitErrors()
    with pytest.raises(KeyError), errors.kept():
        raise KeyError("boom")
    assert stat.S_IMODE(errors._path.stat().st_mode) == 0o600  # noqa: SLF001 - nobody else knows it
    assert errors.take().endswith("KeyError: 'boom'\n")
    assert errors.take() == ""


def test_a_line_of_a_module_that_logic_imports_is_the_pipelines_code(mine):
    text = told("ZeroDivisionError: division by zero", TIMERS + RULES)
    assert text.startswith(
        "PROCESSOR_FAILED: shared/rules.py line 7, in bound: ZeroDivisionError: division by zero"
    )


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: 'NoneType' object is not iterable",
        "AttributeError: 'str' object has no attribute 'asDict'",
        "pyarrow.lib.ArrowTypeError: Expected bytes, got a 'int' object",
        "pyspark.errors.exceptions.base.PySparkTypeError: [UDF_RETURN_TYPE] Return type of the "
        "user-defined function should be iterable, but is NoneType.",
        "pyspark.errors.exceptions.base.PySparkRuntimeError: [RESULT_COLUMN_SCHEMA_MISMATCH] Number "
        "of columns of the returned data doesn't match specified schema.",
    ],
)
def test_what_the_code_returned_is_its_fault_though_no_line_of_it_is_told(mine, error):
    text = told(error)
    assert text.startswith("PROCESSOR_FAILED: what the code of mine returned: ")
    assert "\n" not in text


def test_what_a_bucket_finds_wrong_is_the_codes_fault_though_it_is_told_by_a_line_of_sluice(mine):
    wrong = "spark_jobs.steps.bucket.WrongResult: the state has this key twice: shop='a'"
    frame = '  File "/srv/spark_jobs/steps/bucket.py", line 91, in after\n    return x\n'
    text = told(wrong, frame)
    assert text.startswith("PROCESSOR_FAILED: The code of mine returned ")
    assert "the state has this key twice: shop='a'." in text


def test_a_state_of_other_types_is_no_fault_of_the_code(mine):
    """It returned nothing, so no correction of it helps."""
    wrong = "spark_jobs.steps.bucket.OtherTypes: the stored state has the columns shop int64"
    frame = '  File "/srv/spark_jobs/steps/bucket.py", line 66, in after\n    return x\n'
    assert told(wrong, frame) == (
        "STATE_INCOMPATIBLE: mine: the stored state has the columns shop int64. "
        f"{StateIncompatible.usual_remedy}"
    )


@pytest.mark.parametrize(
    ("error", "frames", "code"),
    [
        ("TypeError: rows() takes 1 positional argument but 2 were given", DECODE, "SPARK_FAILED"),
        ("ValueError: of the decoder", DECODE, "SPARK_FAILED"),
        ("OSError: [Errno 28] No space left on device", "", "DISK_FULL"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "", "SETTING_INVALID"),
        ("EOFError: the socket closed", "", "SPARK_FAILED"),
    ],
)
def test_what_others_raise_is_not_the_codes_fault(mine, error, frames, code):
    assert told(error, frames).startswith(f"{code}: ")


def test_a_pipeline_without_code_returns_nothing(tmp_path):
    assert told("ValueError: x").startswith("SPARK_FAILED: ")


def test_the_remedy_names_the_digest_to_declare_and_the_command_that_resumes(mine):
    text = told("KeyError: 'boom'", RULES)
    assert f"add {code_digest('mine')!r} to compatible_logic in spec.py" in text
    assert "Then run `sluice drain mine`: nothing of the failed batch was committed." in text


def test_code_that_fails_in_the_driver_is_told_with_its_line(mine, monkeypatch):
    (mine / "fails").mkdir()
    (mine / "fails" / "logic.py").write_text("def wider(rows):\n    return rows['x']\n")
    logic: Any = importlib.import_module("spark_jobs.pipelines.fails.logic")

    def error_of(call: Any) -> str:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is
            call()
        return str(translate_error(raised.value, "fails"))

    assert error_of(lambda: logic.wider({})).startswith(
        "PROCESSOR_FAILED: fails/logic.py line 2, in wider: KeyError: 'x'"
    )
    assert error_of(logic.wider).startswith(
        "PROCESSOR_FAILED: fails/logic.py line 1, in wider: TypeError: wider() missing"
    )
    assert error_of(lambda: int("x")).startswith("SPARK_FAILED: ")
