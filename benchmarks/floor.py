"""The least that running a command N times costs, so many at once: `floor.py N AT_ONCE COMMAND...`."""

import os
import subprocess
import sys

total, at_once, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
running: dict[int, "subprocess.Popen[bytes]"] = {}
succeeded = 0
for number in range(total + at_once):
    if number >= at_once and running:
        pid, status = os.wait()
        code = running.pop(pid).returncode = os.waitstatus_to_exitcode(status)
        succeeded += code == 0
    if number < total:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        running[process.pid] = process
print(succeeded)
