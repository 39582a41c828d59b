"""Writes a Metaflow flow of N trivial steps in a row and becomes it: `metaflow_chain.py N`.

Metaflow reads a flow's steps from its source, so a chain of N has to be written out.
"""

import os
import sys
from pathlib import Path

names = ["start", *(f"step_{number}" for number in range(int(sys.argv[1]) - 2)), "end"]
source = ["from metaflow import FlowSpec, step", "", "class Chain(FlowSpec):"]
for name, after in zip(names, [*names[1:], None], strict=True):
    source += ["    @step", f"    def {name}(self):", f"        self.next(self.{after})" if after else "        pass"]
Path("chain.py").write_text("\n".join([*source, "", "Chain()", ""]))
os.execv(sys.executable, [sys.executable, "chain.py", "run"])
