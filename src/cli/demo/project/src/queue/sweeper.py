"""Puts jobs back whose worker has died.

A job that has failed too often goes to `dead_letter`, where a person looks at it.
"""

import time

from .db import transaction

STALE = """
    SELECT id, attempts FROM job
     WHERE state = 'running' AND started < ?
     ORDER BY id
     LIMIT 20
"""

AGAIN = """
    UPDATE job
       SET state = 'ready', owner = NULL, attempts = attempts + 1
     WHERE id = ?
"""


def sweep(con, older_than=300.0, most_attempts=5):
    """Puts the jobs back that have been running for `older_than` seconds.

    Returns their number.
    """

    before = time.time() - older_than
    with transaction(con):
        stale = con.execute(STALE, (before,)).fetchall()
        for job, attempts in stale:
            if attempts < most_attempts:
                con.execute(AGAIN, (job,))
            else:
                con.execute("INSERT INTO dead_letter SELECT id, payload, ? FROM job WHERE id = ?", (time.time(), job))
                con.execute("DELETE FROM job WHERE id = ?", (job,))
    return len(stale)
