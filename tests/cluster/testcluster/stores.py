"""What a pipeline works with around Argo: an S3 server, an MLflow server that keeps artifacts in it, a git server."""

import secrets
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import boto3
from botocore.client import BaseClient

from testcluster.machine import Machine
from testcluster.paths import BINARIES, STATE
from testcluster.services import Service, answers

BUCKETS = ("data", "mlflow", "argo")


@dataclass
class Stores:
    """The three servers of a machine."""

    machine: Machine
    access_key: str = "argosy-test"
    secret_key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    @property
    def s3_url(self) -> str:
        return f"http://{self.machine.address}:7070"

    @property
    def mlflow_url(self) -> str:
        return f"http://{self.machine.address}:5000"

    @property
    def git_url(self) -> str:
        """The folder `repositories`, to clone from and push to."""
        return f"git://{self.machine.address}"

    @property
    def repositories(self) -> Path:
        return STATE / "repositories"

    @property
    def environment(self) -> dict[str, str]:
        """How S3's clients find it and prove who they are."""
        return {
            "AWS_ENDPOINT_URL": self.s3_url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    @property
    def s3(self) -> BaseClient:
        return boto3.client(
            "s3",
            endpoint_url=self.s3_url,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
        )

    def start(self) -> None:
        self._s3().start()
        for bucket in BUCKETS:
            self.s3.create_bucket(Bucket=bucket)
        self.mlflow.start()
        self._git().start()

    def _s3(self) -> Service:
        folder = STATE / "s3"
        folder.mkdir()
        words = [BINARIES / "versitygw", "--port", f"{self.machine.address}:7070", "posix", folder]
        keys = {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}
        return Service(self.machine, "s3", words, answers(self.s3_url), keys)

    @cached_property
    def mlflow(self) -> Service:
        words = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            f"--host={self.machine.address}",
            "--port=5000",
            "--workers=1",
            f"--backend-store-uri=sqlite:///{STATE / 'mlflow.db'}",
            "--artifacts-destination=s3://mlflow",
            f"--allowed-hosts={self.machine.address}:5000",
        ]
        return Service(self.machine, "mlflow", words, answers(f"{self.mlflow_url}/health"), self.environment)

    def _git(self) -> Service:
        self.repositories.mkdir()
        words = [
            "git",
            "daemon",
            f"--listen={self.machine.address}",
            f"--base-path={self.repositories}",
            "--export-all",
            "--enable=receive-pack",
            self.repositories,
        ]
        return Service(self.machine, "git", words, lambda: _is_listening(self.machine.address, 9418))


def _is_listening(address: str, port: int) -> bool:
    import socket

    with socket.socket() as connection:
        connection.settimeout(2)
        return connection.connect_ex((address, port)) == 0
