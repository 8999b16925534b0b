"""Makes 0eb87da2.tar.xz by the code of that commit: real drains of three deliveries of four. In a work
tree of it, with these two files of tests/frozen and the packages that it locks:

    PYTHONPATH=.:plugins python -m tests.frozen.make_drained 0eb87da2.tar.xz
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from local import broker
from spark_jobs.settings.installation import Settings
from tests.frozen.drained import DRAINED, HOME, World, freeze
from tests.harness.broker import JARS
from tests.harness.session import INTERPRETED, start, surroundings
from tests.spark.test_rebuild import Rebuilding
from tests.spark.test_repair import Repairs


def drained(world: World) -> None:
    """Three deliveries by each pipeline; behind the third a repair staged, and a rebuild begun."""
    for number in range(DRAINED):
        world.deliver()
        for name in world.specs:
            world.drain(name, f"run-{number}")
        if number == 0:
            beside = Rebuilding(world.scenes["miles_flown"])
            beside.begin()
            beside.compute("rebuild-0")
    repairs = Repairs(world.scenes["departure_delays"])
    report = repairs.stage(repairs.plan())
    assert report.problem is None, report.problem


def main(into: Path) -> None:
    os.environ["SLUICE_PIPELINES"] = "spark_jobs.pipelines"
    with TemporaryDirectory() as given:
        folder = Path(given).resolve()
        kafka = broker.start(folder / HOME, JARS)
        try:
            with surroundings(kafka):
                spark = start(Settings.from_environment(), **INTERPRETED)
                drained(World(kafka, folder))
                spark.stop()
        finally:
            broker.stop(folder / HOME)
        freeze(folder, into)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
