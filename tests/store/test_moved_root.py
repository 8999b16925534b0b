"""A root whose bucket or prefix was renamed."""

from tests.harness.turns import alike
from tests.store.root import copied, of

pytestmark = alike("a root on a store")


def test_it_drains_on_exactly_where_its_objects_are_now(scene, store):
    first = scene("aircraft_rotations", events=900, deliveries=2)
    first.deliver()
    first.run("first")
    there = copied(first, store)
    was = of(first, store)
    for name in was.objects():
        was.remove(name)
    there.deliver()
    there.run("second")
    there.assert_exact()
    assert not was.objects()
    state = of(there, store).objects("checkpoints/aircraft_rotations/v1/spark/state/")
    assert not [name for name in state if was.url[5:].encode() in of(there, store).read(name)]
