"""The newest event time of each of several topics, behind a rewind and behind a lost cursor: an
idle topic would else hold the watermark back for ever.
"""

import json
from datetime import timedelta

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rewind import rewind
from spark_jobs.ops.accounts import newest_times, without
from spark_jobs.values.spans import EPOCH, MICROSECOND
from tests.harness.roots import NOON
from tests.unit.drains import SPEC, Drains

HOUR = timedelta(hours=1)


def row(batch=0, **newest):
    """Of ops.batches. None: of a batch with records whose times an older Sluice did not tell."""
    topics = {
        name: {"accepted": 5} | ({"last_event_us": (time - EPOCH) // MICROSECOND} if time else {})
        for name, time in newest.items()
    }
    return {"batch_id": batch, "topics": json.dumps(topics)}


def test_the_largest_of_all_accounts_is_the_newest():
    rows = [row(eu=NOON, us=NOON), row(eu=NOON - HOUR), {"topics": None}, row(us=NOON + HOUR)]
    assert newest_times(rows) == (("eu", NOON), ("us", NOON + HOUR))


def test_what_no_batch_that_is_gone_has_moved_stays_though_its_account_has_expired():
    cursor = (("eu", NOON + HOUR), ("us", NOON))
    found = without(cursor, [row(eu=NOON + HOUR)], [row(eu=NOON)])
    assert found == (("eu", NOON), ("us", NOON))
    assert without(cursor, [row(eu=NOON + HOUR)], []) == (("us", NOON),)
    assert without(cursor, [row(us=NOON - HOUR)], []) == cursor
    assert without(cursor, [row(us=None)], []) == (("eu", NOON + HOUR),), "nobody knows"


MADE = [row(eu=NOON, us=NOON), row(eu=NOON + HOUR), row(eu=NOON + 2 * HOUR)]


class OfTopics(Drains):
    """Batch n has the n-th account of MADE."""

    def _accounted(self, batch, *counted):
        return super()._accounted(batch, *counted) | {"topics": MADE[batch]["topics"]}


def test_a_rewind_and_a_cursor_that_is_made_again_know_the_newest_time_of_an_idle_topic(tmp_path):
    root = OfTopics(tmp_path / "root")
    root._run(0, 2)  # noqa: SLF001 - `drain` may copy what another class made
    root.moved(newest=newest_times(MADE))
    rewind(SPEC, root.settings, 1).execute()
    assert root.cursor.newest == (("eu", NOON + HOUR), ("us", NOON))
    root.paths.cursor.unlink()
    doctor(SPEC, root.settings).execute()
    assert root.cursor.newest == (("eu", NOON + HOUR), ("us", NOON))
