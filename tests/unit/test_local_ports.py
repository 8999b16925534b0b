"""Ports for the servers that the demo and the tests start."""

import random
import socket
from pathlib import Path

import pytest

from local.ports import free_port

HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.skipif(not HANDED_OUT.exists(), reason="only Linux says which ports it hands out")
def test_no_outgoing_connection_is_handed_a_free_port():
    first, last = map(int, HANDED_OUT.read_text().split())
    handed = range(first, last + 1)
    assert not [port for port in (free_port(0) for _ in range(20)) if port in handed]


def test_programs_that_start_with_the_same_seed_are_given_other_ports():
    given = []
    for _ in range(20):
        random.seed(7)
        given.append(free_port(0))
    assert len(set(given)) > 1


def test_no_two_servers_of_one_program_are_given_one_port(monkeypatch):
    monkeypatch.setattr("local.ports.OURS", range(29_000, 29_040))
    monkeypatch.setattr("local.ports.TRIES", 40)
    given = [free_port(0) for _ in range(40)]
    assert len(set(given)) == len(given)


def test_a_wanted_port_is_given_unless_something_listens_there():
    wanted = free_port(0)
    assert free_port(wanted) == wanted
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", wanted))
        listener.listen()
        assert free_port(wanted) != wanted
