"""Sybil's set-up: which blocks and docstrings are examples, and what runs each."""

import importlib
import json
import re
import runpy
import sysconfig
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import SkipTest

import yaml
from sybil import Example, Sybil
from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

from spark_jobs.settings.installation import REPO
from spark_jobs.settings.kafka.config import KafkaConfig
from tests.harness.certificates import Authority
from tests.text import shell

PLACE = "/etc/sluice/"
"""Where the documents' certificates lie."""

LANGUAGES = frozenset({"", "console", "ini", "json", "properties", "python", "sh", "sql", "yaml"})
"""Of fences. One without a language is output or a diagram, and sql is Spark's: neither is run."""


def run_sh(example: Example) -> None:
    shell.check(example.parsed)
    for words in shell.commands(example.parsed):
        if words[:1] == ["export"] and words[1].startswith("AIRFLOW_CONN_SLUICE_KAFKA="):
            check_kafka(
                "".join(
                    f"{name}={value}\n"
                    for name, value in json.loads(words[1].partition("=")[2])["extra"].items()
                )
            )


def run_console(example: Example) -> None:
    shell.check_console(example.parsed)


def run_json(example: Example) -> None:
    json.loads(example.parsed)


def run_ini(example: Example) -> None:
    """Options of airflow.cfg: Airflow, or its OpenLineage provider, has each of them."""
    given = ConfigParser()
    given.read_string(example.parsed)
    assert given.sections()
    for section in given.sections():
        assert {*given[section]} <= _airflow_options()[section], f"[{section}]"


@cache
def _airflow_options() -> dict[str, set[str]]:
    """Read from files: who imports Airflow settles its home."""
    airflow = Path(sysconfig.get_path("purelib")) / "airflow"
    core = yaml.safe_load((airflow / "config_templates" / "config.yml").read_text())
    provider = runpy.run_path(str(airflow / "providers" / "openlineage" / "get_provider_info.py"))
    sections = core | provider["get_provider_info"]()["config"]
    return {name: {*section["options"]} for name, section in sections.items()}


def run_properties(example: Example) -> None:
    check_kafka(example.parsed)


def check_kafka(properties: str) -> None:
    """KafkaConfig takes them, with real certificates where they name some, or refuses."""
    with TemporaryDirectory() as folder:
        for name, pem in _certificates().items():
            (Path(folder) / name).write_text(pem)
            (Path(folder) / name).chmod(0o600)
        file = Path(folder) / "kafka.properties"
        file.touch(mode=0o600)
        file.write_text(properties.replace(PLACE, f"{folder}/"))
        assert KafkaConfig.read(str(file)).protocol != "PLAINTEXT"


@cache
def _certificates() -> dict[str, str]:
    authority = Authority("examples")
    pair = authority.pair("sluice")
    return {"ca.crt": authority.certificate, "sluice.crt": pair.certificate, "sluice.key": pair.key}


DOCUMENTS = Sybil(
    parsers=[
        SkipParser(),
        PythonCodeBlockParser(),
        CodeBlockParser("ini", run_ini),
        CodeBlockParser("json", run_json),
        CodeBlockParser("properties", run_properties),
        CodeBlockParser("sh", run_sh),
        CodeBlockParser("console", run_console),
    ]
)
DOCSTRINGS = Sybil(parsers=[DocTestParser()])


def in_documents() -> Iterator[tuple[str, Document]]:
    """Each page, whose blocks go on from each other, by its place."""
    for path in shell.DOCUMENTS:
        yield str(path.relative_to(REPO)), DOCUMENTS.parse(path)


def in_docstrings() -> Iterator[tuple[str, Document]]:
    """Each module that has a line which begins with `>>>`, with its own names."""
    for folder, package in (("spark_jobs", ""), ("plugins", "plugins/")):
        for path in sorted((REPO / folder).rglob("*.py")):
            if ">>> " in path.read_text():
                document = DOCSTRINGS.parse(path)
                place = str(path.relative_to(REPO))
                module = place.removesuffix(".py").removeprefix(package).replace("/", ".")
                document.namespace.update(vars(importlib.import_module(module)))
                yield place, document


def evaluate(document: Document) -> None:
    """All its examples in order, less those that a comment skips; an error says whose it is."""
    for example in document.examples():
        try:
            example.evaluate()
        except SkipTest:
            continue
        except Exception as error:
            error.add_note(f"{example.path}:{example.line}")
            raise


def fences(path: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each fence of a document."""
    yield from re.findall(r"^```([^\n]*)\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
