"""Marks jobs as done.

`attempts` counts how often a job was worked on. It is more than one if a
worker died, or if its finish failed: then the job stays `running`, and the
sweeper has it done again.
"""

from .db import transaction

ATTEMPTS = """
    SELECT attempts FROM job
     WHERE id = ?
"""

DONE = """
    UPDATE job
       SET state = 'done', attempts = ?
     WHERE id = ?
"""


def finish(con, job):
    """Marks `job` as done, and counts the attempt."""

    # The count must not change in between.
    with transaction(con):
        row = con.execute(ATTEMPTS, (job,)).fetchone()
        attempts = row[0] + 1
        # If this fails, the work was done, but nobody knows.
        con.execute(DONE, (attempts, job))
