"""The daily report: how many jobs are in each state, and how old they are."""

import sqlite3
import sys
from pathlib import Path


def open_read_only(path):
    """Opens the queue, but can't change it."""

    con = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    con.isolation_level = None
    return con


def report(con):
    """Yields a line for each state. All lines are of the same moment."""

    con.execute("BEGIN")
    rows = con.execute("SELECT state, count(*), max(attempts) FROM job GROUP BY state ORDER BY state")
    for state, count, attempts in rows:
        yield f"{state}: {count} jobs, at most {attempts} attempts"
    con.execute("COMMIT")


if __name__ == "__main__":
    print(*report(open_read_only(sys.argv[1])), sep="\n")
