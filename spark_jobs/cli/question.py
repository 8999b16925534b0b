"""Question: shows a person at the terminal what a repair would change, and asks."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import typer

from spark_jobs.cli.terminal import say

if TYPE_CHECKING:
    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.storage.root.paths import Paths


def agreed(paths: Paths, manifest: Manifest, *, yes: bool) -> bool:
    """Whether the staged change may be swapped in: nobody need agree, or a person does, or has
    with `yes`. A No ends the repair: it is rejected. So does Ctrl-C, and input that has no answer.
    """
    from spark_jobs.repair.manifest import approve  # noqa: PLC0415 - loads delta-rs, which the help does not need
    from spark_jobs.repair.undo import reject  # noqa: PLC0415 - as above

    if manifest.approval == "not needed":
        return True
    who, answered = getpass.getuser(), False
    try:
        _show(paths, manifest)
        answered = yes or typer.confirm("Swap this change in?")
    finally:
        if answered:
            approve(paths, manifest.repair_id, who)
        else:
            # No command swaps it in later.
            reject(paths, manifest.repair_id, who)
    return answered


def _show(paths: Paths, manifest: Manifest) -> None:
    from spark_jobs.repair.exchange.staging import sample, sample_lines  # noqa: PLC0415 - as above

    say(
        f"repair {manifest.repair_id} would change version {manifest.table_version} of the table: "
        f"{manifest.added:,} rows added, {manifest.removed:,} removed, {manifest.changed:,} "
        f"changed; {manifest.unexplained:,} of these no late or replayed record explains"
    )
    try:
        lines = sample_lines(sample(paths.staging(manifest.repair_id)))
    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the question stands
        lines = [f"the rows cannot be shown: {error}"]
    for line in lines:
        say(f"  {line}")
