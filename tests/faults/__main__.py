"""`make faults KILLS=200 SEED=...`, with WARM=1 or REPAIRS=1: the long form."""

import argparse
import math
import os
import shutil
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from local import broker
from spark_jobs.settings.installation import REPO
from tests.faults import repairing, warm_campaign
from tests.faults.campaign import Campaign
from tests.faults.catalogue import schedule
from tests.faults.repairing import Repairing
from tests.faults.stage_kills import rounds
from tests.harness.process import PIPELINES, none_left


def main() -> int:
    """Leaves its folder, with every drain's log, only where something was wrong."""
    parser = argparse.ArgumentParser(prog="tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="end behind so many, verified"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--repairs", action="store_true", help="kill stages and swaps of repairs, not drains"
    )
    which.add_argument(
        "--warm", action="store_true", help="kill drains that go through a worker, and the worker"
    )
    wanted = parser.parse_args()
    folder = Path(mkdtemp(prefix="sluice-faults-"))
    say(f"seed {wanted.seed}; logs in {folder}")
    again = f"the same again: make faults{_which(wanted)} KILLS={wanted.kills} SEED={wanted.seed}"
    try:
        lines = _run(folder, wanted, again)
    except AssertionError as wrong:
        say(f"{wrong}\n{again}")
        return 1
    for line in lines:
        say(line)
    shutil.rmtree(folder)
    return 0


def _which(wanted: argparse.Namespace) -> str:
    chosen = {"REPAIRS": wanted.repairs, "WARM": wanted.warm}
    return "".join(f" {name}=1" for name, is_chosen in chosen.items() if is_chosen)


def _run(folder: Path, wanted: argparse.Namespace, again: str) -> list[str]:
    until = time.monotonic() + wanted.minutes * 60
    os.environ["SLUICE_PIPELINES"] = PIPELINES
    os.environ["SLUICE_KAFKA"] = kafka = broker.start(folder / "kafka", REPO / "jars" / "kafka")
    try:
        with none_left():
            if wanted.repairs:
                return (
                    Repairing(
                        kafka,
                        folder,
                        rounds(wanted.seed),
                        say,
                        deliveries=wanted.kills + repairing.FIRST,
                    )
                    .run(wanted.kills, until)
                    .lines
                )
            if wanted.warm:
                return warm_campaign.run(
                    kafka, folder, wanted.seed, wanted.kills, say, again, until
                )
            drains = Campaign(kafka, folder, schedule(wanted.seed, wanted.kills), say, again)
            drains.measure()
            return drains.run(until=until).lines
    finally:
        broker.stop(folder / "kafka")


def say(line: str) -> None:
    """To whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
