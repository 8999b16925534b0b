"""A root on an object store: drains over it, exact."""

from __future__ import annotations


def test_drains_over_a_root_in_the_store_are_exact_and_the_second_finds_nothing(scene):
    made = scene("aircraft_rotations", events=1500, deliveries=2)
    made.deliver()
    first = made.run("first")
    made.deliver()
    second = made.run("second")
    assert first.account.read + second.account.read == made.ledger.num_rows
    made.assert_exact()
