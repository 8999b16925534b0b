"""Formats and envelopes are found by name: what a topic does not use, no process loads."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from spark_jobs.decode import decoder, slice_counter
from spark_jobs.decode.prepared import prepare
from spark_jobs.decode.slices import SlicePolicy
from spark_jobs.spec import Avro, Csv, Field, Topic
from tests.unit.decoding import records

fields = (Field(name="at", type="timestamp"),)
topic = Topic(name="t", event_time="at", fields=fields, {more})
prepare(topic, {root!r}, None).decoder().decode(records([b"x"]))
slice_counter.SliceCounter(topic, SlicePolicy.of(1, None, 0))
print(*sorted(
    {{"avro", "protobuf", "schemas", "schemed", "envelopes", "plain"}}
    & {{name.split(".")[2] for name in sys.modules if name.startswith("spark_jobs.decode.")}}
))
"""
LOADED = {
    "": "",
    'format=Csv(columns=("at",))': "plain",
    'format=Avro(registry="main")': "avro schemas schemed",
    'envelope="debezium"': "envelopes",
}
"""What a topic declares -> the rooms that it loads, beside those of every topic."""


@pytest.mark.parametrize("more", LOADED)
def test_a_topic_loads_its_own_format_and_envelope_alone(tmp_path, more):
    program = PROGRAM.format(more=more, root=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == LOADED[more]
