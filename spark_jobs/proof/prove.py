"""Prove: the application's job: runs cases, and says of each how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.errors import CasesFailed
from spark_jobs.proof.run import Outcome, outcomes

if TYPE_CHECKING:
    from spark_jobs.messages.job import Prove
    from spark_jobs.settings.installation import Settings


def prove(job: Prove, settings: Settings) -> Iterator[str]:
    """Lines to print: one for each case, and behind one that failed what differs. Raises
    CasesFailed at the end, or CaseInvalid before the first.
    """
    ended = list[Outcome]()
    for each in outcomes(job.pipelines, settings, job.only):
        ended.append(each)
        if job.results:
            with Path(job.results).open("a") as file:
                file.write(json.dumps(each._asdict()) + "\n")
        word = "FAILED" if each.differs else "ok"
        yield f"{word:<6}  {each.pipeline}: {each.case} ({each.seconds:.1f} s)"
        yield from (f"          {line}" for line in each.differs)
    if failed := sum(bool(each.differs) for each in ended):
        raise CasesFailed.some(failed=failed, all_=len(ended))
