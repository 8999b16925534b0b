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
from tests.faults.staging import Staging
from tests.faults.swapping import Swapping
from tests.harness.process import PIPELINES, none_left


def main() -> int:
    """Leaves its folder, with every drain's log, only where something was wrong."""
    parser = argparse.ArgumentParser(prog="tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--repairs", action="store_true", help="kill repairs, their swaps and undos, not drains"
    )
    parser.add_argument(
        "--stages", type=int, help="with --repairs: kills of a stage, each a JVM; a tenth of KILLS"
    )
    wanted = parser.parse_args()
    folder = Path(mkdtemp(prefix="sluice-faults-"))
    say(f"seed {wanted.seed}; logs in {folder}")
    os.environ["SLUICE_PIPELINES"] = PIPELINES
    os.environ["SLUICE_KAFKA"] = kafka = broker.start(folder / "kafka", REPO / "jars" / "kafka")
    try:
        again = f"the same again: make faults KILLS={wanted.kills} SEED={wanted.seed}"
        if wanted.repairs:
            for line in _repairs(kafka, folder, wanted):
                say(line)
            return 0
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


def _repairs(kafka: str, folder: Path, wanted: argparse.Namespace) -> list[str]:
    """The figures of the kills of repairs."""
    stages = wanted.kills // 10 if wanted.stages is None else wanted.stages
    say(f"the same again: make faults REPAIRS=1 KILLS={wanted.kills} SEED={wanted.seed}")
    swaps = Swapping(folder, wanted.seed, say).run(wanted.kills - stages)
    if not stages:
        return swaps.lines
    return [*swaps.lines, *Staging(kafka, folder, wanted.seed, say).run(stages).lines]


def say(line: str) -> None:
    """To whoever watches."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
