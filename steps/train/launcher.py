"""torchrun, with its report of failed ranks as a file instead of a page of text around the cause.

python -m argosy.steps.train.launcher ATTEMPT-FOLDER TORCHRUN-ARGUMENT ...
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from argosy.steps.train.attempt import Attempt


def main(folder: Path, arguments: Sequence[str]) -> int:
    try:
        run.run(run.parse_args(list(arguments)))  # type: ignore[no-untyped-call] # torch leaves both without types
    except ChildFailedError as error:
        Attempt(folder).report_exits({rank: failure.exitcode for rank, failure in error.failures.items()})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
