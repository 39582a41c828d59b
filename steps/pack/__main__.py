"""`python -m argosy.steps.pack --folder=FOLDER --out=FOLDER --output=FOLDER`: packs on this machine, or in a pod."""

import sys
from collections.abc import Sequence

from argosy.steps import arguments, home, pod
from argosy.steps.contracts import ExitCode
from argosy.steps.pack.contracts import PackInput, PackOutput


def main(words: Sequence[str]) -> int:
    if not words or "-h" in words or "--help" in words:
        text = arguments.help_text("pack", PackInput).replace("argosy.steps pack", "argosy.steps.pack")
        sys.stdout.write(f"{text}\n")
        return ExitCode.OK if words else ExitCode.USAGE
    home.ensure()
    return pod.end(lambda: _packed(words))


def _packed(words: Sequence[str]) -> tuple[PackInput, PackOutput]:
    from argosy.steps.pack import pack

    inputs = arguments.parsed(PackInput, words)
    pod.clear(inputs.output)
    return inputs, pack.run(inputs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
