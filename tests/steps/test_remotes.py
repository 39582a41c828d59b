"""DVC's configuration is read as DVC reads it; what of it leaves this machine holds no secret."""

import itertools
import os
import shutil
from pathlib import Path

import pytest
from dvc.config import Config
from dvc.fs import get_cloud_fs, get_fs_config

from argosy.steps.contracts import ExitCode
from argosy.steps.errors import StepError
from argosy.steps.pins import FOLDER, Pin, PinnedSource
from argosy.steps.stage.remotes import SECRETS, Remotes, secrets
from argosy.steps.stage.source import Source

LEVELS = ("system", "global", "repo", "local")


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "work/project"
    (folder / ".dvc").mkdir(parents=True)
    for level in ("system", "global"):
        (tmp_path / level).mkdir()
        monkeypatch.setenv(f"DVC_{level.upper()}_CONFIG_DIR", str(tmp_path / level))
    return folder


@pytest.fixture
def configure(project, tmp_path):
    """Writes one of DVC's configuration files."""
    files = {
        "system": tmp_path / "system/config",
        "global": tmp_path / "global/config",
        "repo": project / ".dvc/config",
        "local": project / ".dvc/config.local",
    }

    def write(text, level="repo"):
        files[level].write_text(text)

    return write


@pytest.fixture
def remote(project):
    def read(name=None, revision=""):
        return Remotes(Source(project, revision)).remote(name)

    return read


def section(name, **options):
    return f"['remote \"{name}\"']\n" + "".join(f"    {option} = {value}\n" for option, value in options.items())


def core(name):
    return f"[core]\n    remote = {name}\n"


def refusal(call, *words):
    with pytest.raises(StepError) as caught:
        call(*words)
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    return caught.value.message


# ---------------------------------------------------------------------------------------------- as DVC


def dvcs_own(project, name=None):
    """What DVC itself makes of the configuration: the remote's options with its url."""
    config = Config(dvc_dir=str(project / ".dvc"))
    return get_fs_config(config, name=name or config["core"]["remote"])


@pytest.mark.parametrize("named", [names for count in (1, 2, 4) for names in itertools.combinations(LEVELS, count)])
def test_each_file_shadows_those_before_it_option_by_option_as_with_dvc(named, project, configure, remote):
    for level in named:
        options = {"region": level} if level != named[-1] else {}
        shared = section("shared", url=f"s3://{level}/shared", endpointurl=f"http://{level}", **options)
        configure(core(f"{level}-own") + section(f"{level}-own", url=f"s3://{level}") + shared, level)
    theirs, default = dvcs_own(project, "shared"), dvcs_own(project)
    ours = remote("shared")
    assert (ours.url, ours.endpoint) == (theirs["url"], theirs["endpointurl"])
    assert ours.region == theirs.get("region", "")
    assert remote().url == default["url"] == f"s3://{named[-1]}"


@pytest.mark.parametrize(
    "url",
    ["../../store", "store", "..", "/srv/store", "../a b/ü", "~/store", "sub/../store/", "remote://base/x/y"],
)  # fmt: skip
@pytest.mark.parametrize("level", ["global", "repo", "local"])
def test_a_folder_is_the_one_that_dvc_uses_and_is_absolute_unless_it_is_in_the_project(
    url, level, project, configure, remote
):
    configure(core("store") + section("Base", url="../../base") + section("store", url=url), level)
    config = Config(dvc_dir=str(project / ".dvc"))
    _, _, theirs = get_cloud_fs(config, name="store")
    ours = remote()
    path = ours.url.removeprefix(FOLDER)
    assert os.path.normpath(project / path) == os.path.normpath(theirs)
    is_inside = Path(os.path.normpath(theirs)).is_relative_to(project)
    assert ours.url.startswith(FOLDER) == (not is_inside), "nothing else is safe from the local runner"
    assert Path(path).is_absolute() == (not is_inside)


@pytest.mark.parametrize(
    "url", ["s3://bucket/some/prefix", "s3://bucket", "s3://bucket/prefix/", "remote://base/deep/er"]
)
def test_bucket_and_prefix_are_those_that_dvc_uses(url, project, configure, remote):
    configure(core("store") + section("base", url="s3://other/p", endpointurl="http://localhost:1", region="eu")
              + section("store", url=url, region="us"))  # fmt: skip
    _, options, theirs = get_cloud_fs(Config(dvc_dir=str(project / ".dvc")), name="store")
    assert remote().url.removeprefix("s3://") == theirs.rstrip("/")
    assert (remote().region, remote().endpoint) == ("us", options.get("endpointurl", ""))


def test_names_and_options_are_told_apart_without_regard_to_case_as_with_dvc(project, configure, remote):
    configure("[CORE]\nRemote = Store\n" + "['Remote \"STORE\"']\nURL = s3://b\nEndPointUrl = http://localhost\n")
    assert remote().url == remote("sTore").url == dvcs_own(project)["url"]
    assert (remote().name, remote().endpoint) == ("store", "http://localhost")


def test_a_value_may_refer_to_another_as_with_dvc(project, configure, remote):
    configure(core("store") + section("store", region="eu", url="s3://bucket-%(region)s"))
    assert remote().url == dvcs_own(project)["url"] == "s3://bucket-eu"


def test_at_a_revision_the_projects_file_counts_as_it_was_and_the_machines_own_as_they_are(
    project, configure, remote, git
):
    configure(core("store") + section("store", url="s3://then"))
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=x")
    configure(core("store") + section("store", url="s3://now"))
    configure(section("store", endpointurl="http://localhost"), "local")
    then = remote(None, "HEAD")
    assert (then.url, then.endpoint) == ("s3://then", "http://localhost")
    assert remote().url == "s3://now"


# ---------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize("option", SECRETS)
def test_credentials_are_for_this_machine_and_in_no_pin(option, project, configure, remote):
    configure(core("store") + section("store", url="azure://container/prefix", account_name="team"))
    configure(section("store", **{option: "s3cr3t"}), "local")
    held = secrets(project, "Store")
    assert list(held) == [option]
    assert held[option].endswith("s3cr3t")
    pin = Pin(dataset="x", revision="", sources=(PinnedSource(path="x", hash="0" * 32, remote=remote()),))
    assert "s3cr3t" not in pin.model_dump_json()
    assert remote().account == "team"


def test_a_file_with_credentials_is_the_one_beside_the_configuration(project, configure):
    configure(core("store") + section("store", url="gs://bucket", credentialpath="key.json"))
    assert secrets(project, "store") == {"credentialpath": str(project / ".dvc/key.json")}


def test_credentials_come_from_the_remote_that_a_url_refers_to(project, configure):
    configure(section("base", url="s3://b", access_key_id="a") + section("store", url="remote://base/x"))
    assert secrets(project, "store") == {"access_key_id": "a"}


def test_where_nothing_is_configured_there_are_no_credentials(project):
    assert secrets(project, "store") == {}
    shutil.rmtree(project / ".dvc")
    assert secrets(project, "store") == {}


@pytest.mark.parametrize(
    "options",
    [
        {"url": "s3://key:s3cr3t@bucket/prefix"},
        {"url": "s3://s3cr3t@bucket"},
        {"url": "azure://container?sv=1&sig=s3cr3t"},
        {"url": "https://user:s3cr3t@host"},
        {"url": "ssh://user:s3cr3t@host/path"},
        {"url": "s3://bucket", "endpointurl": "https://user:s3cr3t@localhost"},
    ],
)
def test_an_address_with_credentials_is_refused_and_not_repeated(options, configure, remote):
    configure(core("store") + section("store", **options))
    message = refusal(remote)
    assert message.startswith("DVC remote store: its address holds credentials; `dvc remote modify --local store`")
    assert "s3cr3t" not in message


@pytest.mark.parametrize("text", ["[core\ns3cr3t\n", "[core]\nremote = a\n s3cr3t\n", "[a]\nb = %(s3cr3t\n[[s3cr3t\n"])
def test_a_file_that_cannot_be_read_is_named_with_its_line_and_not_repeated(text, configure, remote):
    configure(text)
    message = refusal(remote)
    assert message.startswith(".dvc/config:")
    assert "s3cr3t" not in message


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "scheme", ["ssh", "gdrive", "hdfs", "webhdfs", "webdav", "webdavs", "http", "https", "oss", "file"]
)
def test_another_kind_of_remote_is_refused_with_its_name_and_what_works(scheme, configure, remote):
    configure(core("store") + section("store", url=f"{scheme}://host/path"))
    message = refusal(remote)
    assert message.startswith(f"DVC remote store: is of kind {scheme}://, which argosy cannot read; argosy reads s3://")
    assert "folders" in message


@pytest.mark.parametrize("option", ["version_aware", "worktree"])
def test_a_version_aware_remote_is_refused(option, configure, remote):
    configure(core("store") + section("store", url="s3://b", **{option: "True"}))
    assert "DVC remote store: is version-aware" in refusal(remote)
    configure(core("store") + section("store", url="s3://b", **{option: "false"}))
    assert remote().url == "s3://b"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("", "/.dvc/config: names no default remote"),
        (section("other", url="x"), "/.dvc/config: names no default remote"),
        (core("gone") + section("other", url="x"), "remote gone: .dvc/config has none of this name; it has other"),
        (core("store") + section("store"), "remote store: has no url"),
        (core("store") + section("store", url="s3://a, s3://b"), "remote store: has no url"),
        (core("store") + section("store", url="s3:///x"), "remote store: is of kind s3://"),
        (core("store") + section("store", url="s3://[::1"), "remote store: its url is none"),
        (core("a") + section("a", url="remote://b/x") + section("b", url="remote://a"), "remote a: its url leads back"),
        (core("a") + section("a", url="remote://b/x"), "remote b: .dvc/config has none of this name; it has a"),
    ],
)
def test_a_remote_that_cannot_be_used_is_refused_by_name(config, told, configure, remote):
    configure(config)
    assert told in refusal(remote)


def test_a_file_of_another_encoding_is_refused(project, remote):
    (project / ".dvc/config.local").write_bytes(b"[core]\nremote = \xff")
    assert ".dvc/config.local: is no UTF-8 text" in refusal(remote)
