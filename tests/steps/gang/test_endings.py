"""Which of the nodes of a gang that ended has the word."""

import pytest

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import Terminated
from argosy.steps.gang import endings
from argosy.steps.gang.endings import Ending

STOPPED = 143


@pytest.mark.parametrize("first", [0, 1])
def test_of_nodes_that_were_all_asked_to_stop_the_first_node_speaks(first):
    ended = [Ending(node, abs(node - first), STOPPED, f"stopped at step {node}") for node in (0, 1)]
    assert "(node 0: stopped at step 0)" in str(endings.stopped(Terminated("SIGTERM"), ended))


def test_a_fault_of_a_node_that_was_asked_to_stop_speaks_before_the_others_stops():
    ended = [Ending(0, 1.0, STOPPED, "stopped at step 8"), Ending(1, 2.0, ExitCode.CODE, "boom")]
    assert "(node 1: boom)" in str(endings.stopped(Terminated("SIGTERM"), ended))


def test_what_is_no_stop_stays_what_it_is():
    fault = OSError("no room")
    assert endings.stopped(fault, [Ending(0, 1.0, STOPPED, "stopped")]) is fault
