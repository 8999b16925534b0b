"""`python -m local.reference`: write docs/reference.md anew."""

from local.reference.page import PAGE, page

PAGE.write_text(page())
