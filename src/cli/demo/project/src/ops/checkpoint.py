"""The nightly checkpoint: writes the WAL back, and empties it."""

import sqlite3
import sys


def checkpoint(path):
    """Returns whether the WAL could be emptied."""
    con = sqlite3.connect(path, timeout=0)
    busy, _, _ = con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    con.close()
    return not busy


if __name__ == "__main__":
    sys.exit(0 if checkpoint(sys.argv[1]) else "a reader or a writer was in the way")
