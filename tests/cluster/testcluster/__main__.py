"""`python -m testcluster parts|up|down`: what a cluster is made of, and one for a developer that is left running."""

import sys

from testcluster.cluster import Cluster, end, parts
from testcluster.needs import lacking
from testcluster.paths import BINARIES, ROOT, STATE

LOOK = """\
The cluster runs. For a shell that works with it:

{exports}
  export PATH={commands}:$PATH:{bin}

  cd {project}
  argosy submit digits -c --watch
  argo list
  kubectl get pods -n {namespace}
  tail -f {logs}/workflow-controller.log

The same variables let `pytest tests/cluster` use it in place of one of its own. `make cluster-down` ends it."""


def main(words: list[str]) -> int:
    match words:
        case ["parts"]:
            if reason := lacking():
                print(f"cluster tier: {reason}", file=sys.stderr)
            else:
                parts()
        case ["up"]:
            if reason := lacking():
                print(f"no cluster: {reason}", file=sys.stderr)
                return 1
            print(_described(Cluster.booted(stays=True)))
        case ["down"]:
            end()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _described(cluster: Cluster) -> str:
    variables = cluster.access.environment | cluster.access.for_tests
    return LOOK.format(
        exports="\n".join(f"  export {name}='{value}'" for name, value in variables.items()),
        commands=ROOT / ".venv" / "bin",
        bin=BINARIES,
        project=cluster.project,
        namespace=cluster.access.namespace,
        logs=STATE / "logs",
    )


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
