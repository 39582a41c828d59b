"""One way in: `argosy`.

Each command is a module of `commands/`, imported when it is asked for; what is heavy it imports when it runs.
"""

import importlib
import sys
from io import TextIOWrapper

try:
    import click
except ModuleNotFoundError:  # an image that has argosy[steps] alone
    sys.exit("argosy: the command line is not installed here; `pip install 'argosy[pipelines]'` installs it")

from argosy.pipelines.commands.mistake import told

COMMANDS = (
    "init", "check", "compile", "run", "submit", "watch", "runs", "show", "logs", "stop", "retry", "resume",
    "gate", "diff", "reproduce", "rollback", "data", "cache", "images", "install", "deploy", "trigger", "doctor",
)  # fmt: skip
"""In the order in which a user meets them."""

EPILOG = """\b
Exit codes:
  0    done
  1    the answer is no: the run failed, or the check found problems
  2    a mistake in the command, the pipeline or the manifest: nothing was done
  3    a gate said no: the model was judged, and not published
  4    the run waits for a person: `argosy resume` lets it go on, `argosy stop` ends it
  130  interrupted

\b
Completion of commands, pipelines, runs and steps, in ~/.bashrc or ~/.zshrc:
  eval "$(_ARGOSY_COMPLETE=bash_source argosy)"
  eval "$(_ARGOSY_COMPLETE=zsh_source argosy)"

\b
Example:
  argosy run digits
"""


class Commands(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"argosy.pipelines.commands.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from argosy.pipelines.commands.mistake import unknown

            raise unknown("command", args[0], COMMANDS, f"argosy has {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}
)
@click.version_option(package_name="argosy", message="argosy %(version)s")
def argosy() -> None:
    """Define, run and trust model-training pipelines on Argo Workflows."""


def main() -> None:
    """The command `argosy`. A user's mistake is one line on stderr; a mistake of argosy's shows its traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✔ gets a question mark, not a traceback
    try:
        code = argosy.main(sys.argv[1:] or ["--help"], prog_name="argosy", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        _end("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:  # a group without one of its commands
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except Exception as error:
        message = told(error)
        if message is None:
            raise
        _end(message, 2)
    sys.exit(code if isinstance(code, int) else 0)


def _end(message: str, code: int) -> None:
    for line in message.splitlines():
        click.echo(f"argosy: {line}", err=True)
    sys.exit(code)
