"""The cluster that the tests of this folder share: one of their own, or one that ARGOSY_TEST_KUBECONFIG names."""

from collections.abc import Iterator

import pytest
from testcluster.access import Access
from testcluster.cluster import Cluster
from testcluster.needs import lacking

NOT_RUN = pytest.StashKey[str]()


@pytest.fixture(scope="package")
def own_cluster(request) -> Iterator[Cluster | None]:
    """The tests' own cluster, whose servers they may kill; None where they use another."""
    if Access.named():
        yield None
        return
    if reason := lacking():
        request.config.stash[NOT_RUN] = reason
        pytest.skip(f"cluster tier not run: {reason}")
    booted = Cluster.booted()
    yield booted
    booted.stop()


@pytest.fixture(scope="package")
def cluster(own_cluster) -> Access:
    return own_cluster.access if own_cluster else Access.named()


@pytest.fixture
def servers(own_cluster) -> Cluster:
    """For tests that kill servers."""
    if own_cluster is None:
        pytest.skip("servers of a cluster that is not the tests' own are left alone")
    return own_cluster


def pytest_terminal_summary(terminalreporter, config) -> None:
    if reason := config.stash.get(NOT_RUN, ""):
        terminalreporter.write_line(f"cluster tier not run: {reason}", yellow=True)
