"""torchrun, after the nodes have met, and with its report of failed ranks as a file instead of a page of text.

python -m argosy.steps.train.launcher ATTEMPT-FOLDER WORKER-MODULE ATTEMPT-NAME SECONDS-TO-MEET
"""

import sys
from pathlib import Path

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.train import nodes
from argosy.steps.train.attempt import Attempt, Group
from argosy.steps.train.failures import NO_RANK


def main(folder: Path, module: str, owner: str, seconds: float) -> int:
    attempt = Attempt(folder)
    try:
        return _launched(attempt, module, owner, seconds)
    except StepError as error:
        attempt.report_failure(NO_RANK, error)
    except Exception as error:  # noqa: BLE001 - the supervisor must learn of whatever it was
        refusal = StepError(ExitCode.TEMPORARY if isinstance(error, OSError) else ExitCode.CODE, _words(error))
        attempt.report_failure(NO_RANK, refusal)
    return 1


def _launched(attempt: Attempt, module: str, owner: str, seconds: float) -> int:
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    inputs = attempt.inputs
    node = nodes.this_node(inputs)
    store: object = None
    group = Group(owner=owner)
    if node.of > 1:
        group, store = nodes.meet(node, owner, seconds)
    attempt.gather(group)
    if node.rank not in group.nodes:
        return 0
    words = [*_place(node, group), f"--nproc-per-node={inputs.ranks}", "--max-restarts=0"]
    words += ["-m", module, str(attempt.folder)]
    try:
        run.run(run.parse_args(words))  # type: ignore[no-untyped-call] # torch leaves both without types
    except ChildFailedError as error:
        attempt.report_exits({rank: failure.exitcode for rank, failure in error.failures.items()})
        return 1
    except SignalException:  # the supervisor's own
        return 1
    del store
    return 0


def _place(node: nodes.Node, group: Group) -> list[str]:
    if len(group.nodes) == 1 == node.of:
        return ["--standalone", "--local-addr=127.0.0.1"]  # the pod's own name need not resolve
    return [
        f"--nnodes={len(group.nodes)}",
        f"--node-rank={group.nodes.index(node.rank)}",
        f"--master-addr={node.host}",
        f"--master-port={node.port}",
        f"--rdzv-id={group.owner}",
    ]


def _words(error: Exception) -> str:
    text = str(error).splitlines()
    return f"torchrun cannot start the ranks: {type(error).__name__}: {text[0] if text else 'without a word'}"


if __name__ == "__main__":
    folder, module, owner, seconds = sys.argv[1:]
    sys.exit(main(Path(folder), module, owner, float(seconds)))
