"""What a view in the cache is of."""

from pydantic import Field

from argosy.steps.base import Contract, Md5


class Version(Contract):
    """What version.json says. Publication fills in key, files and bytes."""

    dataset: str
    dataset_hash: Md5
    revision: str
    key: str = Field(default="", description="name of the view's folder")
    files: int = Field(default=0, ge=0, description="files in the view")
    bytes: int = Field(default=0, ge=0, description="bytes in the view; a file that is there twice counts twice")
