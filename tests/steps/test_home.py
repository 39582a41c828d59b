"""A process that is a number without a name, without a home, on a root that it cannot write."""

import os
import subprocess
import sys
import tempfile

import pytest

PROGRAM = """
import getpass, os
from argosy.steps import home
home.ensure()
print(os.path.expanduser("~"), getpass.getuser())
"""
NAMES = ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("given", [{}, {"HOME": "/"}, {"HOME": "/nowhere"}])
def test_a_user_without_an_entry_gets_a_home_that_can_be_written_and_a_name(given):
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | given
    # The interpreter may lie where another user cannot read: it becomes that user when it has started.
    program = f"import argosy.steps.home, os; os.setgid(54321); os.setuid(54321)\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [tempfile.gettempdir(), "argosy"]


def test_a_home_that_is_there_stays(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path), "USER": "somebody", "LOGNAME": "somebody"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path), "somebody"]
