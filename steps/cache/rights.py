"""Whether a pod may write into the cache that it was given, and who must do what when it may not.

A folder of the node that the kubelet makes belongs to root (kubernetes: pkg/volume/hostpath, DirectoryOrCreate, mode
0755), and fsGroup does not apply to it.
"""

import errno
import os
import stat
from pathlib import Path

from argosy.steps import files
from argosy.steps.errors import StepError, configuration_error

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_FOLDER = (errno.ENOTDIR, errno.EEXIST)


def require_writable(folder: Path, node_folder: str) -> None:
    """A folder in the cache can be made and written; `node_folder` is what the cache is on the node, if any.

    Raises StepError (CONFIGURATION) with the right that is missing and the remedy.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = files.partial(folder)
        probe.mkdir()
        probe.rmdir()
    except FileNotFoundError:
        return  # another pod has swept the probe away
    except OSError as error:
        if error.errno in FULL:
            return  # a matter of room, of which something can be made
        if error.errno in NO_FOLDER:
            raise configuration_error(f"{folder}: is no folder, or would lie in a file; name another cache") from None
        if error.errno not in REFUSED:
            raise
        refused = Path(error.filename).parent
        on_node = f"{node_folder}/{folder.name}" if node_folder and refused == folder else node_folder
        raise _refusal(refused, on_node, read_only=error.errno == errno.EROFS) from None


def _refusal(folder: Path, node_folder: str, *, read_only: bool) -> StepError:
    if read_only:
        return configuration_error(f"{folder}: is mounted read-only; mount the cache for writing")
    user, group, status = os.geteuid(), os.getegid(), folder.stat()
    owned = f"it is {stat.filemode(status.st_mode)} of user {status.st_uid}, group {status.st_gid}"
    remedy = f"give its volume to group {group}"
    if node_folder:
        make = f"install -d -o {user} -g {group} {node_folder}"
        remedy = f"run `{make}` on the node, or apply the DaemonSet that `argosy install` prints"
    return configuration_error(f"{folder}: user {user}, group {group} lacks the right to write: {owned}; {remedy}")
