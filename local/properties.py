"""The configuration of the local broker: Kafka's server.properties and its log4j2.properties."""

from typing import NamedTuple

# Longer than any event time is away: the flights are of 2013, and their copies reach years ahead.
FOREVER = 2**63 - 1
AN_HOUR_AHEAD = 3_600_000
"""Milliseconds: Kafka's own default since 4.0. A broker of tests takes any, as older ones do."""


class Secured(NamedTuple):
    """Listeners beside the plain one of loopback, through which a test sets its broker up."""

    listeners: dict[str, tuple[str, int]]
    """Name -> security protocol and port."""
    properties: str
    """Lines of server.properties: certificates, mechanisms, an authorizer."""


def server_properties(
    port: int, controller_port: int, secured: Secured | None = None, ahead_ms: int = FOREVER
) -> str:
    """One node that is broker and controller, for one machine; its data is in `data` of its working
    folder. It refuses Kafka timestamps that are more than `ahead_ms` ahead of its clock.
    """
    listeners = secured.listeners if secured else {}
    beside = [f"{name}://127.0.0.1:{at}" for name, (_, at) in listeners.items()]
    advertised = ",".join([f"PLAINTEXT://127.0.0.1:{port}", *beside])
    protocols = ",".join(
        [
            "PLAINTEXT:PLAINTEXT",
            "CONTROLLER:PLAINTEXT",
            *(f"{n}:{p}" for n, (p, _) in listeners.items()),
        ]
    )
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners={advertised},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners={advertised}
listener.security.protocol.map={protocols}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=data
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
# Small, so that the first consumer group and the first transaction do not wait for 50 partitions.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
# Retention and segments go by the records' own timestamps, which are years old.
log.retention.ms=-1
log.retention.bytes=-1
log.roll.ms={FOREVER}
log.message.timestamp.type=CreateTime
log.message.timestamp.before.max.ms={FOREVER}
log.message.timestamp.after.max.ms={ahead_ms}
{secured.properties if secured else ""}"""


# Read only where a binding from slf4j to log4j is among the jars; kafka_2.13 itself brings none.
LOG4J = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d{ISO8601} %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""
