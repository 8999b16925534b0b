"""The outcome of a record.

Every record has exactly one last outcome, and the account counts each outcome.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """One outcome.

    Its text is a value of the columns OUTCOME and ops.quarantine.kind, and the name of an observed
    metric.
    """

    MALFORMED = "malformed"
    """It cannot be decoded, an expression of the spec fails on it (checkpoint/notes/failing.py), or
    a rule refuses it (by_rules.py).

    It goes to ops.quarantine, with the reason.
    """
    PREMATURE = "premature"
    """Its event time is more than the topic's max_ahead after its Kafka timestamp, or after the
    batch's clock.

    It goes to ops.quarantine.
    """
    GOOD = "good"
    """Neither malformed nor premature.

    Not a last outcome: in the steps it becomes filtered, late or accepted.
    """
    FILTERED = "filtered"
    """A Transform before the first stateful step removed it, or a rule. It is counted, but not
    stored.
    """
    LATE = "late"
    """The first stateful step drops it because of the watermark. It goes to ops.late."""
    ACCEPTED = "accepted"
    """The first stateful step processed it, as a new row or as a duplicate."""


CLASSIFIED = (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
"""The outcomes that depend on the record alone, before any step."""
QUARANTINED = (Outcome.MALFORMED, Outcome.PREMATURE)
REJECTED = (*QUARANTINED, Outcome.LATE)
"""The outcomes whose records are stored byte for byte."""
RESOLVED = (*REJECTED, Outcome.ACCEPTED)
"""The last outcomes that a second read counts. All other records were filtered."""
