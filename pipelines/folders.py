"""Where a pod of argosy's finds what it works with."""

CACHE = "/argosy/cache"
MODELS = "/argosy/models"
OUTPUT = "/argosy/output"

PROJECT = "/argosy/project"
"""The project's code: the image's, or what was fetched in its place."""

REGISTRY = "/argosy/registry"
"""MLflow's database and files, where no server keeps them."""

GIT = "/argosy/git"
"""The .netrc of the repository that the code is fetched from."""

LOCK = "/opt/argosy/requirements.lock"
"""What is installed in the image."""

TERMINATION = "/dev/termination-log"
