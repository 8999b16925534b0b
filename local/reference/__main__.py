"""`python -m local.reference`: write docs/reference.md anew, and the table in docs/architecture.md."""

from local.reference import changes
from local.reference.page import PAGE, page

PAGE.write_text(page())
changes.PAGE.write_text(changes.architecture())
