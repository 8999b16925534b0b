"""The schema registry."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class RegistryUnreachable(SluiceError):
    """The schema registry did not answer within the time limit, or answered with an error of its
    own.
    """

    code, exit_status, retry = "REGISTRY_UNREACHABLE", 26, True
    usual_remedy = "Start the registry, or correct `schema.registry.url`; the next run resumes."

    schema_not_kept = reason(
        "Schema {number} is not kept. Its first record came after this run had looked for schema "
        "ids.",
        "The next drain asks for it. If a repair says so, restore its file below schemas/ of the "
        "root.",
    )
    answered_error = reason(
        "The schema registry at {url} answered {status}{said}.", "Wait until it works again."
    )
    no_answer = reason("The schema registry at {url} did not answer: {error}.")


class RegistryRefused(SluiceError):
    """The schema registry rejected this client, or what answers is no schema registry."""

    code, exit_status = "REGISTRY_REFUSED", 27
    usual_remedy = "Correct the property that the line names."

    schema_differs = reason(
        "Schema {number} of the registry at {url} differs from that in {folder}. It is another "
        "registry, or was set up anew.",
        "Name the new registry in the topic's format: Avro(registry=...), "
        "Protobuf(registry=...). Old schemas stay for their records.",
    )
    no_registry_answers = reason(
        "What answers at {url} is no schema registry, or is broken. It gave {what}.",
        "Correct schema.registry.url: the address in front of /schemas and /subjects.",
    )
    registry_undeclared = reason(
        "The Kafka declaration names no schema registry. A schema that is not under the root yet "
        "is needed.",
        "Give schema.registry.url (SLUICE_KAFKA_CONFIG, or Airflow's connection sluice_kafka).",
    )
    client_refused = reason(
        "The schema registry at {url} refused this client: {status}{said}.",
        "Correct schema.registry.basic.auth.user.info or schema.registry.bearer.auth.token, or "
        "grant the right to read schemas.",
    )
    tls_refused = reason(
        "The schema registry at {url}: {error}.",
        "Correct the URL, or give the certificate of its authority in "
        "schema.registry.ssl.ca.location.",
    )
