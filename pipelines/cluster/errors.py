"""What can go wrong on the way to a cluster: each message is one line with its remedy, and holds no secret."""


class ClusterError(ValueError):
    """A cluster that cannot be used so, or that refused what was asked of it."""


class MissingError(ClusterError):
    """There is nothing of this name."""


class ExistsError(ClusterError):
    """There is something of this name already."""


class LostError(ClusterError):
    """No answer came, or one that says to ask again later: what was asked for may have been done or not."""


class UnreadableError(ClusterError):
    """A workflow whose status is none that Argo writes."""
