"""Formats and envelopes are found by name: what a topic does not use, no process loads."""

import json

from tests.harness.ran import python
from tests.harness.turns import alike

pytestmark = alike("what a process loads")

PROGRAM = """
import json, os, sys
from spark_jobs.decode import decoder, slices
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.spec import Avro, Field, Topic
from tests.unit.decoding import records

fields = (Field(name="at", type="timestamp"),)
for topic in (
    dict(), dict(format=Avro(registry="main")), dict(envelope="debezium")
):
    if os.fork():  # each in a process that has loaded none
        os.wait()
        continue
    topic = Topic(name="t", event_time="at", fields=fields, **topic)
    prepare(topic, sys.argv[1], None).decoder().decode(records([b"x"]))
    slices.SliceCounter(topic, slices.SlicePolicy.of(1, None, 0))
    print(json.dumps(sorted(
        {"avro", "protobuf", "schemas", "schemed", "envelopes"}
        & {name.split(".")[2] for name in sys.modules if name.startswith("spark_jobs.decode.")}
    )), flush=True)
    os._exit(0)
"""


def test_a_topic_loads_its_own_format_and_envelope_alone(tmp_path):
    """The rooms that it loads, beside those of every topic."""
    loaded = map(json.loads, python(PROGRAM, tmp_path).stdout.splitlines())
    assert [*loaded] == [[], ["avro", "schemas", "schemed"], ["envelopes"]]
