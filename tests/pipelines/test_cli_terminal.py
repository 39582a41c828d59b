"""The command line on a terminal."""

import fcntl
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ARGOSY = Path(sys.executable).with_name("argosy")


@pytest.fixture
def on_terminal(project, wait_for):  # noqa: ARG001 - it is the working directory
    def call(*words, interrupt_when=None, **environment):
        """What a terminal of 80 columns was sent, and the exit code. Ctrl-C is typed when the condition holds."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
        process = subprocess.Popen(
            [ARGOSY, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no threads here
            env={key: value for key, value in os.environ.items() if key != "NO_COLOR"}
            | {"TERM": "xterm"}
            | environment,
        )
        os.close(theirs)
        if interrupt_when:
            wait_for(interrupt_when)
            os.write(ours, b"\x03")
        said = b""
        while True:
            try:
                block = os.read(ours, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not block:
                break
            said += block
        os.close(ours)
        return said.decode().replace("\r\n", "\n"), process.wait(30)

    return call


def test_on_a_terminal_the_tree_is_drawn_in_place_and_the_summary_stays(on_terminal):
    said, code = on_terminal("run", "greeting.yaml")
    assert code == 0
    assert "\x1b[2K" in said, "no line was drawn anew"
    assert "\x1b[32msucceeded" in said
    assert said.rstrip().splitlines()[-1].startswith("  next  argosy show greet-")


def test_a_user_who_wants_no_colours_gets_none(on_terminal):
    said, _ = on_terminal("run", "greeting.yaml", NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*m", said)


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(on_terminal):
    said, _ = on_terminal("run", "greeting.yaml", TERM="dumb")
    assert "\x1b" not in said
    assert "say: succeeded" in said


def test_ctrl_c_typed_at_a_terminal_interrupts_the_run_once(on_terminal, project):
    (project / "ran").touch()
    said, code = on_terminal("run", "waiting.yaml", interrupt_when=lambda: "second" in (project / "ran").read_text())
    assert code == 130
    assert "argosy retry wait-" in said
    assert "Traceback" not in said
