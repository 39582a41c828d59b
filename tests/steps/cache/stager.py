"""A pod that stages: `stager.py CACHE KEY FILES LOG`. It notes each object that it fetches in LOG.

Its data is made up: FILES small files, and a large one that goes through a partial blob.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

from argosy.steps.cache.entry import Entry
from argosy.steps.cache.faults import Gone
from argosy.steps.cache.node_cache import NodeCache
from argosy.steps.cache.version import Version
from argosy.steps.errors import StepError

LARGE = 1 << 20


def contents(key, files, large=LARGE):
    made = {f"{number % 3}/{number}.txt": f"{key} {number}".encode() for number in range(files)}
    return made | {"large.bin": key.encode().ljust(8, b".") * (large // 8)}


def stage(cache, key, made, fetched):
    """As the stage step does; `fetched` is called for each object."""
    if cache.found(key):
        return
    with cache.staging(key):
        while cache.found(key) is None:
            try:
                fetch(cache, made, fetched)
                entries = [Entry(path, hashlib.md5(one).hexdigest()) for path, one in made.items()]
                cache.publish(key, Version(dataset="d", dataset_hash="0" * 32, revision=""), entries, {})
            except Gone:
                continue


def fetch(cache, made, fetched):
    by_md5 = {hashlib.md5(one).hexdigest(): one for one in made.values()}
    for md5 in cache.blobs.missing(by_md5):
        content = by_md5[md5]
        if len(content) < 1 << 16:
            fetched(md5)
            cache.blobs.add(md5, content)
            continue
        while not cache.blobs.has(md5):
            with cache.blobs.partial(md5) as path:
                if path is None:
                    sys.stderr.write("waits\n")
                    sys.stderr.flush()
                    time.sleep(0.01)
                elif not cache.blobs.has(md5):
                    fetched(md5)
                    path.write_bytes(content)
                    cache.blobs.adopt(md5, path)


def main(cache, key, files, log):
    with Path(log).open("a") as file:

        def fetched(md5):
            os.write(file.fileno(), f"{md5}\n".encode())

        stage(NodeCache(Path(cache)), key, contents(key, int(files)), fetched)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except StepError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(error.exit_code)
