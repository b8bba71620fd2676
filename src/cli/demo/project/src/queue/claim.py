"""Claims jobs for a worker.

A job is in one of four states:

- ready: nobody works on it;
- running: `owner` works on it, since `started`;
- done: its work is done;
- cancelled: nobody is to work on it.

Only the worker that owns a job may finish it. A worker that dies leaves its
job running; the sweeper puts it back.
"""

import time

from .db import transaction

# The oldest job goes first. The index on (state, id) makes this one lookup.
NEXT = """
    SELECT id FROM job
     WHERE state = 'ready'
     ORDER BY id
     LIMIT 1
"""

TAKE = """
    UPDATE job
       SET state = 'running', owner = ?, started = ?
     WHERE id = ?
"""


def claim(con, owner):
    """Gives the oldest ready job to `owner`.

    Returns its id, or None if no job is ready.
    """

    # Whoever reads a job here must be the one who takes it.
    with transaction(con):
        row = con.execute(NEXT).fetchone()
        if row is None:
            return None
        taken = (owner, time.time(), row[0])
        con.execute(TAKE, taken)
        return row[0]
