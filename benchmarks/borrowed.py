"""What the benchmarks share with the tests: an S3 server, and DVC remotes without DVC."""

import sys

from report import ROOT

sys.path.append(str(ROOT / "tests" / "objectstore"))

import dvcremote
import objectstore

__all__ = ["dvcremote", "objectstore"]
