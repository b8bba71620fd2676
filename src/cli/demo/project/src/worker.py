"""A worker: claims jobs, does them, and marks them done."""

import os
import sys
import time

from .queue.claim import claim
from .queue.db import connect
from .queue.finish import finish


def main(name):
    con = connect(os.environ["QUEUE"])
    while True:
        job = claim(con, name)
        if job is None:
            time.sleep(1)
            continue
        time.sleep(0.005)  # the work
        finish(con, job)


if __name__ == "__main__":
    main(sys.argv[1])
