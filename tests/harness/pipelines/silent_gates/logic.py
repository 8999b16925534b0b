"""The alarm clock of quiet_gates, due only in another run than the one that wound it up."""

from tests.pipelines.quiet_gates.logic import Quiet


class Silent(Quiet):
    """The same, after half an hour."""

    quiet_ms = 30 * 60_000
