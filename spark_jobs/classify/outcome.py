"""What becomes of a record. Every record that is read has one outcome in the end, and the account counts each."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """One outcome. As text it stands in the column `fate`, in observed metrics and in ops.quarantine's `kind`."""

    MALFORMED = "malformed"
    """It cannot be decoded. It goes to ops.quarantine, with the reason."""
    PREMATURE = "premature"
    """Its event time lies more than the topic's max_ahead past its Kafka timestamp. It goes to ops.quarantine."""
    GOOD = "good"
    """It is neither of the two. It goes on to the steps, where it is filtered, late or accepted: no last outcome."""
    FILTERED = "filtered"
    """A Transform before the first stateful step left it out. It is counted and not kept."""
    LATE = "late"
    """Its event time is behind the watermark: the first stateful step drops it. It goes to ops.late."""
    ACCEPTED = "accepted"
    """The first stateful step took it: as a new row, or as a duplicate."""


COLUMN = "fate"
"""The column of an outcome beside a record's own: a topic may have a field `outcome`, and none `fate` (Topic.RESERVED)."""

CLASSIFIED = (Outcome.MALFORMED, Outcome.PREMATURE, Outcome.GOOD)
"""What a record's own columns tell, before any step."""
QUARANTINED = (Outcome.MALFORMED, Outcome.PREMATURE)
REJECTED = (*QUARANTINED, Outcome.LATE)
"""Those whose records are kept, byte for byte."""
RESOLVED = (*REJECTED, Outcome.ACCEPTED)
"""The last outcomes that a second read counts; records that were filtered are what is left."""
