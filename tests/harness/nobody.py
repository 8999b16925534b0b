"""Another user of the machine: what this process does as nobody. Only root can."""

import codecs
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

NOBODY = 65534
needs_two_users = pytest.mark.skipif(os.getuid() != 0, reason="only root can be a second user")


def as_nobody(does: Callable[[], Any]) -> Any:
    """What it returns, as JSON has it, in a process of that user."""
    for codec in ("idna", "latin-1"):  # nobody may not be able to load a module
        codecs.lookup(codec)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(write, json.dumps(does()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return json.loads(told)
