"""Submitted to Spark: reads a topic as each FOLDER/*.properties says, and writes what came."""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.registry import find as registry
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.kafka.config import KafkaConfig, jaas
from spark_jobs.source import kafka_reader


def main(folder: Path) -> None:
    spark = SparkSession.builder.appName("secured").getOrCreate()
    found: dict[str, Any] = {
        file.stem: read(spark, file) for file in sorted(folder.glob("*.properties"))
    }
    found["plan"] = plan(spark, folder / "scram 512.properties")
    texts = json.loads((folder / "texts.json").read_text())
    found["texts"] = [through_java(spark._jvm, text) for text in texts]  # noqa: SLF001 - the JVM is the point
    (folder / "found.json").write_text(json.dumps(found))


def declared(file: Path) -> Settings:
    config = KafkaConfig.read(str(file))
    return Settings.from_environment()._replace(kafka=config.brokers, kafka_config=config)


def plan(spark: SparkSession, file: Path) -> str:
    """All plans of the stream, as Spark would tell them with an error."""
    records = kafka_reader.read_stream(spark, registry.load("flight_events"), declared(file))
    return str(records._jdf.queryExecution().toString())  # noqa: SLF001 - explain() returns nothing


def read(spark: SparkSession, file: Path) -> int | str:
    """How many records the topic has; or the error in Sluice's words."""
    spec = registry.load("flight_events")
    options = kafka_reader._options(declared(file), spec)  # noqa: SLF001 - as a drain's, for a batch
    try:
        records = (
            spark.read.format("kafka")
            .options(**options)
            .option("subscribe", spec.topic.name)
            .load()
        )
        return records.count()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is asked for
        return str(translate_error(error, spec.name))


def through_java(jvm: Any, text: str) -> str:
    """The text as Kafka's login module gives it back."""
    configs = jvm.java.util.HashMap()
    rendered = jaas("PLAIN", {"username": "u", "password": text})
    configs.put("sasl.jaas.config", jvm.org.apache.kafka.common.config.types.Password(rendered))
    context = jvm.org.apache.kafka.common.security.JaasContext.loadClientContext(configs)
    return str(context.configurationEntries().get(0).getOptions().get("password"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
