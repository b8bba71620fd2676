"""A load on the queue: worker processes claim jobs and finish them, and count the transactions that fail."""

import argparse
import multiprocessing
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from src.queue.claim import claim  # noqa: E402
from src.queue.db import connect, create  # noqa: E402
from src.queue.finish import finish  # noqa: E402


def connection(begin):
    """Returns the class of a connection that begins transactions with `begin`, if given, instead of the project's word."""

    class Connection(sqlite3.Connection):
        begun = None

        def execute(self, sql, *parameters):
            if sql.startswith("BEGIN"):
                sql = Connection.begun = begin or sql
            return super().execute(sql, *parameters)

    return Connection


def work(number, path, begin, seconds, results):
    factory = connection(begin)
    con = connect(path, factory)
    claimed, done, waits, failures = [], 0, [], []

    def attempt(call, *arguments):
        began = time.perf_counter()
        try:
            result = call(con, *arguments)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            failures.append(time.perf_counter() - began)
            time.sleep(0.01)
            return False, None
        waits.append(time.perf_counter() - began)
        return True, result

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        is_claimed, job = attempt(claim, f"worker {number}")
        if not is_claimed:
            continue
        claimed.append(job)
        time.sleep(0.005)  # the work
        done += attempt(finish, job)[0]
    con.close()
    results.put((claimed, done, waits, failures, factory.begun))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--begin", help="begin transactions with this instead of the project's word")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "queue.db")
        create(path)
        con = connect(path)
        con.execute("BEGIN")
        con.executemany("INSERT INTO job (payload) VALUES (?)", [("x" * 200,)] * arguments.jobs)
        con.execute("COMMIT")
        con.close()
        results = multiprocessing.Queue()
        rest = (path, arguments.begin, arguments.seconds, results)
        workers = [multiprocessing.Process(target=work, args=(number, *rest)) for number in range(arguments.processes)]
        for worker in workers:
            worker.start()
        told = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
    claims = Counter(job for claimed, *_ in told for job in claimed)
    waits = [wait for _, _, waits, *_ in told for wait in waits]
    failures = [failure for _, _, _, failures, _ in told for failure in failures]
    print(f"{told[0][4]}, {arguments.processes} processes, {arguments.seconds:g} s")
    print(f"transactions: {len(waits) + len(failures)}")
    print(f"failed with 'database is locked': {len(failures)}")
    print(f"jobs claimed: {len(claims)}, done: {sum(done for _, done, *_ in told)}")
    print(f"jobs claimed twice: {sum(1 for times in claims.values() if times > 1)}")
    print(f"longest transaction: {max(waits, default=0) * 1000:.1f} ms")
    if failures:
        print(f"time until a transaction failed, median: {statistics.median(failures) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
