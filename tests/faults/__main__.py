"""`make faults KILLS=200 SEED=...`: the long form, with its figures at the end."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from local import broker
from spark_jobs.contract.settings import REPO
from tests.faults.campaign import Campaign
from tests.faults.catalogue import schedule
from tests.faults.swapping import Swapping
from tests.harness.process import PIPELINES, none_left


def main() -> int:
    """Leaves its folder, with every drain's log, only where something was wrong."""
    parser = argparse.ArgumentParser(prog="tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--repairs", action="store_true", help="kill swaps and undos of repairs, not drains"
    )
    wanted = parser.parse_args()
    folder = Path(mkdtemp(prefix="sluice-faults-"))
    say(f"seed {wanted.seed}; logs in {folder}")
    if wanted.repairs:
        return _repairs(folder, wanted)
    os.environ["SLUICE_PIPELINES"] = PIPELINES
    os.environ["SLUICE_KAFKA"] = kafka = broker.start(folder / "kafka", REPO / "jars" / "kafka")
    try:
        again = f"the same again: make faults KILLS={wanted.kills} SEED={wanted.seed}"
        with none_left():
            campaign = Campaign(kafka, folder, schedule(wanted.seed, wanted.kills), say, again)
            campaign.measure()
            figures = campaign.run()
    except AssertionError as wrong:
        say(str(wrong))
        return 1
    finally:
        broker.stop(folder / "kafka")
    for line in figures.lines:
        say(line)
    shutil.rmtree(folder)
    return 0


def _repairs(folder: Path, wanted: argparse.Namespace) -> int:
    """Needs neither Kafka nor a JVM."""
    try:
        figures = Swapping(folder, wanted.seed, say).run(wanted.kills)
    except AssertionError as wrong:
        say(
            f"{wrong}\nthe same again: make faults REPAIRS=1 KILLS={wanted.kills} SEED={wanted.seed}"
        )
        return 1
    for line in figures.lines:
        say(line)
    shutil.rmtree(folder)
    return 0


def say(line: str) -> None:
    """To whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
