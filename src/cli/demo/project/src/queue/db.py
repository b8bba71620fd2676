"""The queue's file: every worker opens it here, and every write happens in a transaction."""

import sqlite3
from contextlib import contextmanager
from pathlib import Path

MIGRATIONS = Path(__file__).parents[2] / "migrations"


def create(path):
    con = connect(path)
    for migration in sorted(MIGRATIONS.glob("*.sql")):
        con.executescript(migration.read_text())
    con.close()


# isolation_level=None: Python begins no transaction on its own.
def connect(path, factory=sqlite3.Connection):
    con = sqlite3.connect(path, timeout=5.0, isolation_level=None, factory=factory)
    con.execute("PRAGMA journal_mode=WAL")
    # A power cut may lose the last transactions, but does not damage the file.
    con.execute("PRAGMA synchronous=NORMAL")
    return con


@contextmanager
def transaction(con):
    """Runs the body in a transaction, and takes it back if the body fails."""

    # The first statement of the body may be a read.
    con.execute("BEGIN")
    try:
        yield con
        con.execute("COMMIT")
    except BaseException:
        if con.in_transaction:
            con.execute("ROLLBACK")
        raise
