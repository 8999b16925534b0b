"""Topics in the shapes of real systems, as `sluice new` meets them: with copies, late and bad
records, rivals of time and key. Written here from what such systems publish; the values are made.
"""

from typing import Final

from tests.harness.others.shop import TWELVE
from tests.harness.others.systems import OTHERS

ALL: Final = {**TWELVE, **OTHERS}
"""Topic -> what makes its records."""
