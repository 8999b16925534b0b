"""Record headers: the type that Kafka's headers have in a record's columns and in the ops tables.

Null where none were read: a spec that reads none does not pay for them. Empty where there are none.
"""

from __future__ import annotations

from typing import Final

HEADERS: Final = "array<struct<key:string,value:binary>>"
"""In their order, a name as often as it was sent. A value may be null."""
