"""Kafka: its declaration, its brokers, its topics; and the schema registry."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class KafkaConfigInvalid(SluiceError):
    """A property of the Kafka declaration is unknown, has a wrong value, or conflicts with another
    property.
    """

    code, exit_status = "KAFKA_CONFIG_INVALID", 15
    usual_remedy = "Correct the property that the line names."

    secret_exposed = reason("{source} holds a secret, and {exposed}.", "chmod 600 {path}")
    file_unreadable = reason(
        "{source} cannot be read: {error}.", "Name a properties file that this user may read."
    )
    not_utf8 = reason("{source} is not UTF-8.", "Write it as UTF-8.")
    not_properties = reason(
        "{source}: {error}.", "Write one name=value on each line; # starts a comment."
    )
    property_refused = reason("{source}: {name} is {shown}: {why}.", "{remedy}.")
    client_refuses_property = reason(
        "Kafka's client rejects {source}: {error}.", "Correct the property that the message names."
    )
    not_a_kafka_connection = reason(
        "{source} has type {kind!r}. It must be a Kafka connection.", "Give it type 'kafka'."
    )
    extra_no_object = reason("{source}: extra is {kind}, not an object.", "{remedy}")
    field_outside_extra = reason(
        "{source} has a {field}. A Kafka connection keeps everything in extra.",
        "Move it to extra: bootstrap.servers, sasl.username, sasl.password.",
    )
    extra_not_json = reason("{source}: extra is not JSON{at}.", "{remedy}")
    property_no_scalar = reason(
        "{source}: {name} is {kind}. A property must be text, a number, true or false.",
        "Write it as text, or leave it out.",
    )
    property_misspelt = reason("{source}: property {name!r}: {why}.", "Did you mean {close}?")
    property_unknown = reason(
        "{source}: property {name!r}: {why}.", "Leave it out; use one of {known}."
    )


class KafkaUnreachable(SluiceError):
    """No broker answered within the time limit."""

    code, exit_status, retry = "KAFKA_UNREACHABLE", 20, True
    usual_remedy = "Start the brokers, or correct `SLUICE_KAFKA`."

    count_failed = reason(
        "The broker at {brokers} did not give the records of topic {topic!r} ({error}).",
        "Run it again when the brokers answer.",
    )
    no_broker = reason(
        "No broker answered at {brokers} within {seconds:.0f} s ({error}).", "{remedy}"
    )
    stopped_answering = reason(
        "Kafka stopped answering amid a batch{detail}.", "Check the brokers. The next run resumes."
    )


class KafkaRefused(SluiceError):
    """The brokers rejected this client or its request, or their certificates do not match the
    declaration.
    """

    code, exit_status = "KAFKA_REFUSED", 24
    usual_remedy = "Correct the property, or grant the right, that the line names."

    request_not_allowed = reason(
        "The brokers at {brokers} do not allow this request to {client} ({error}).",
        "Grant the rights that docs/deploy.md lists.",
    )
    right_missing = reason(
        "The brokers at {brokers} do not allow {client} to {right} topic {topic!r}{or_missing}.",
        "READ includes DESCRIBE. Grant READ: kafka-acls.sh --add --allow-principal '{principal}' "
        "--operation READ --topic {topic}",
    )
    endpoint_certificate = reason(
        "The certificate of the token endpoint is not accepted ({error}).", "{remedy}"
    )
    no_token = reason(
        "The token endpoint gave no token to {client} ({error}).",
        "Correct sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret or "
        "sasl.oauthbearer.token.endpoint.url.",
    )
    client_rejected = reason(
        "The brokers at {brokers} rejected {client} ({mechanism}): {error}.",
        "Correct {properties} in {source}, or sasl.mechanism, or security.protocol.",
    )
    certificate_rejected = reason(
        "The brokers at {brokers} did not accept the client's certificate ({error}).",
        "Correct ssl.certificate.location and ssl.key.location in {source}.",
    )
    certificate_needed = reason(
        "The brokers at {brokers} require a client certificate, and none is declared ({error}).",
        "Give ssl.certificate.location and ssl.key.location in {source}.",
    )
    broker_certificate_dates = reason(
        "The certificate of the broker at {broker} is not accepted: {problem}.",
        "Renew the broker's certificate, or correct this machine's clock.",
    )
    broker_certificate_name = reason(
        "The certificate of the broker at {broker} is not accepted: {problem}.",
        "Name the broker in bootstrap.servers as its certificate does, or get one that has this "
        "name.",
    )
    broker_certificate_authority = reason(
        "The certificate of the broker at {broker} is not accepted: {problem}.",
        "Give the certificate of its authority in ssl.ca.location ({source}).",
    )
    broker_certificate = reason(
        "The certificate of the broker at {broker} is not accepted: {problem}.",
        "Correct the certificate, or ssl.ca.location.",
    )
    tls_failed = reason(
        "TLS with the brokers at {brokers} failed ({error}).",
        "Correct security.protocol, ssl.certificate.location and ssl.key.location in {source}.",
    )
    connector_refused = reason(
        "Kafka refused Spark's connector{detail}.",
        "Correct the Kafka settings, or grant the rights that docs/deploy.md lists.",
    )


class TopicMissing(SluiceError):
    """The broker answered and does not have the topic."""

    code, exit_status = "TOPIC_MISSING", 21
    usual_remedy = "Create the topic, or correct the spec or `--topic`."

    topic_absent = reason("The brokers at {brokers} have no topic {topic!r}{nearest}.")


class TransactionsUnusable(SluiceError):
    """The transaction topic does not say which transactions are whole."""

    code, exit_status = "TRANSACTIONS_UNUSABLE", 28
    usual_remedy = "Correct Transactions(topic=...), or leave out `publish_at`."

    no_order = reason(
        "Topic {topic!r} has {partitions} partitions. Then nobody knows which END is newest.",
        "Give it one partition, and let the connector write into it anew.",
    )
    not_counted = reason(
        "Topic {topic!r} has changes of transaction {id}, whose END in {transactions!r} counts "
        "none of it.",
        "Name the transaction topic of the same connector. A topic that a transform has renamed "
        "cannot be counted: leave out publish_at.",
    )


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
