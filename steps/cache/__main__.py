"""A cache's administration: `python -m argosy.steps.cache ls|verify|prune|doctor --cache=DIR [--json]`.

Exit code: as of any step; 65 (data) where something is damaged.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from argosy.steps import pins
from argosy.steps.cache.blobs import Blobs
from argosy.steps.cache.layout import Layout
from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    layout = Layout(given.cache)
    command: Callable[[Layout, argparse.Namespace], int] = given.command
    try:
        if not layout.format.exists():
            sys.stderr.write(f"{layout.root}: is no cache of argosy's; name another folder\n")
            return ExitCode.CONFIGURATION
        if given.command is not doctor:  # which finds it out
            layout.require_known()
        return command(layout, given)
    except StepError as error:
        sys.stderr.write(f"{error.message}\n")
        return error.exit_code
    except PermissionError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}; run this as the user whose cache it is\n")
        return ExitCode.CONFIGURATION
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}; name the folder of a cache, on a disk that works\n")
        return ExitCode.CONFIGURATION
    except KeyboardInterrupt:
        return 130


def ls(layout: Layout, given: argparse.Namespace) -> int:
    from argosy.steps.cache import listing

    lines = listing.lines(layout)
    if given.json:
        _print_json([asdict(line) for line in lines])
        return ExitCode.OK
    rows = [("VERSION", "DATASET", "FILES", "BYTES", "LAST USED", "")]
    for line in lines:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(line.used_at))
        held = "held" if line.is_held else ""
        dataset = ", ".join(source.path for source in pins.sources(line.dataset))
        rows.append((line.key, dataset, f"{line.files:,}", f"{line.bytes:,}", used, held))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        sys.stdout.write("  ".join(map(str.ljust, row, widths)).rstrip() + "\n")
    return ExitCode.OK


def verify(layout: Layout, given: argparse.Namespace) -> int:
    from argosy.steps.cache import verify

    damages = verify.verify(layout, by_md5=given.md5)
    if given.json:
        _print_json([asdict(damage) for damage in damages])
    for damage in damages:
        sys.stderr.write(f"{damage.path} {damage.reason}\n")
    if damages:
        sys.stderr.write(f"{len(damages)} damaged; stage these versions again: what is damaged is then replaced\n")
    elif not given.json:
        sys.stdout.write("every file is as it was staged\n")
    return ExitCode.DATA if damages else ExitCode.OK


def prune(layout: Layout, given: argparse.Namespace) -> int:
    from argosy.steps.cache import pruning

    freed, used = pruning.prune(layout, Blobs(layout.root), given.to)
    if given.json:
        _print_json({"freed_bytes": freed.bytes, "freed_files": freed.files, "bytes": used.bytes, "files": used.files})
    else:
        sys.stdout.write(f"freed {freed}; {used} are there\n")
    return ExitCode.OK


def doctor(layout: Layout, given: argparse.Namespace) -> int:
    from argosy.steps.cache.doctor import State, findings

    found = list(findings(layout))
    if given.json:
        _print_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            sys.stdout.write(f"{finding.state:<8} {finding.question:<10} {finding.message}\n")
    return ExitCode.DATA if any(one.state is State.FAILED for one in found) else ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m argosy.steps.cache", description="Looks after a node's cache.")
    commands = parser.add_subparsers(required=True, metavar="{ls,verify,prune,doctor}")

    def add(command: Callable[[Layout, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(command.__name__, help=text, description=text)
        added.set_defaults(command=command)
        added.add_argument("--cache", type=Path, required=True, metavar="DIR", help="folder of the cache")
        added.add_argument("--json", action="store_true", help="print the result as JSON")
        return added

    add(ls, "list the versions, the one that was used last first")
    words = "read every file and name what is damaged; the next stage of its version replaces it"
    add(verify, words).add_argument("--md5", action="store_true", help="by DVC's hash, which takes far longer")
    target = add(prune, "remove versions that nobody uses, the least recently used first").add_mutually_exclusive_group(
        required=True
    )
    target.add_argument("--to", type=int, metavar="BYTES", help="until the cache holds no more than so many bytes")
    target.add_argument("--all-unused", dest="to", action="store_const", const=0, help="all that nobody uses")
    add(doctor, "tell what is wrong with the cache, and what to do")
    return parser


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
