"""Cancels jobs that nobody works on yet."""

from .db import transaction

CANCEL = "UPDATE job SET state = 'cancelled' WHERE id = ?"


def cancel(con, job):
    """Cancels a ready job.

    Returns the state that the job was in, or None if there is no such job.
    """

    with transaction(con):
        row = con.execute("SELECT state FROM job WHERE id = ?", (job,)).fetchone()
        if row and row[0] == "ready":
            con.execute(CANCEL, (job,))
        return row and row[0]
