"""What `argosy install` prints, and what it leaves to a person."""

import re
from dataclasses import dataclass

import pytest
import yaml
from click.testing import CliRunner

from argosy.pipelines.commands.install import install as command
from argosy.pipelines.commands.mistake import told
from argosy.pipelines.errors import Refusal
from argosy.pipelines.install.settings import Installation
from argosy.pipelines.placement import STAGED_AT_A_TIME, Storage

SECURITY = "pod-security.kubernetes.io/enforce"


@dataclass
class Printed:
    stdout: str
    stderr: str
    mistake: str | None


def install(*words):
    """The command in this process."""
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, Refusal), done.exception
    return Printed(done.stdout, done.stderr, told(done.exception) if done.exception else None)


@pytest.fixture
def installed():
    """The objects by kind and name."""

    def call(*words):
        done = install(*words)
        assert done.mistake is None
        return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.stdout)}

    return call


def test_without_options_there_is_all_that_a_pipeline_needs(installed):
    assert set(installed()) == {
        ("Namespace", "argosy"),
        *[
            (kind, name)
            for kind in ("ServiceAccount", "Role", "RoleBinding")
            for name in ("argosy-steps", "argosy-gang", "argosy-triggers")
        ],
        ("Service", "argosy-gang"),
        ("Secret", "argosy-triggers.service-account-token"),
        ("PersistentVolumeClaim", Storage().models_claim),
        ("PersistentVolumeClaim", Storage().registry_claim),
        ("ConfigMap", Storage().staging),
        ("NetworkPolicy", "argosy-steps"),
        ("NetworkPolicy", "argosy-gang"),
    }


def test_the_semaphore_that_pipelines_name_has_the_limit_that_is_asked_for(installed):
    assert installed()["ConfigMap", Storage().staging]["data"] == {STAGED_AT_A_TIME: "4"}
    assert installed("--staging-limit", "2")["ConfigMap", Storage().staging]["data"] == {STAGED_AT_A_TIME: "2"}


def test_a_limit_that_lets_nothing_stage_is_refused():
    said = "--staging-limit: 0 is below 1; give the number of pods that may stage at a time, such as 4"
    assert install("--staging-limit", "0").mistake == said


def test_the_same_options_give_the_same_bytes():
    words = ["-n", "vision", "--image", "x:1", "--egress", "10.0.0.0/8:443", "--egress", "namespace/mlops"]
    assert len({install(*words).stdout for _ in range(3)}) == 1


def test_every_object_is_labelled_lies_in_the_namespace_and_says_why_it_is_there():
    text = install("-n", "vision", "--image", "x:1", "--mlflow", "https://m.example.org").stdout
    for document in text.split("---\n"):
        assert document.startswith("# ")
        metadata = yaml.safe_load(document)["metadata"]
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "argosy"
        assert metadata["labels"]["app.kubernetes.io/version"]
        assert "vision" in (metadata.get("namespace"), metadata["name"])


@pytest.mark.parametrize(
    ("cache", "enforced"), [("node", "privileged"), ("claim", "restricted"), ("scratch", "restricted")]
)
def test_the_namespace_enforces_what_its_cache_allows(installed, cache, enforced):
    found = installed("--cache", cache)
    labels = found["Namespace", "argosy"]["metadata"]["labels"]
    assert labels[SECURITY] == enforced
    assert labels[SECURITY.replace("enforce", "warn")] == labels[SECURITY.replace("enforce", "audit")] == "restricted"
    assert (("PersistentVolumeClaim", "argosy-cache") in found) is (cache == "claim")


def test_claims_have_the_sizes_class_and_mode_that_are_asked_for(installed):
    found = installed("--models-size", "2Ti", "--storage-class", "nfs", "--access-mode", "ReadWriteOnce")
    assert found["PersistentVolumeClaim", "argosy-models"]["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "2Ti"}},
        "storageClassName": "nfs",
    }


def test_each_account_may_do_what_argo_needs_of_it_and_nothing_else(installed):
    found = installed()
    rights = {
        name: [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in found["Role", name]["rules"]]
        for name in ("argosy-steps", "argosy-gang", "argosy-triggers")
    }
    assert rights == {
        "argosy-steps": [(["argoproj.io"], ["workflowtaskresults"], ["create", "patch"])],
        "argosy-gang": [
            (["argoproj.io"], ["workflowtaskresults"], ["create", "patch"]),
            (["batch"], ["jobs"], ["create", "list", "watch", "delete"]),
            ([""], ["pods"], ["list", "watch"]),
            ([""], ["pods/log"], ["get"]),
            ([""], ["events"], ["list"]),
            (["kueue.x-k8s.io"], ["workloads"], ["list"]),
            (["scheduling.volcano.sh"], ["podgroups"], ["create", "delete"]),
        ],
        "argosy-triggers": [
            (["argoproj.io"], ["workfloweventbindings"], ["list"]),
            (["argoproj.io"], ["workflowtemplates"], ["get"]),
            (["argoproj.io"], ["workflows"], ["create"]),
        ],
    }
    assert not {"ClusterRole", "ClusterRoleBinding"} & {kind for kind, _ in found}


def test_the_only_secret_holds_nothing(installed):
    found = installed("--mlflow", "https://m.example.org", "--s3-endpoint", "https://s.example.org")
    (secret,) = [one for (kind, _), one in found.items() if kind == "Secret"]
    assert set(secret) == {"apiVersion", "kind", "metadata", "type"}


def test_addresses_reach_the_pods_by_config_maps(installed):
    found = installed("--mlflow", "https://m.example.org/", "--s3-endpoint", "http://192.0.2.10:9000")
    assert found["ConfigMap", Storage().data_environment]["data"] == {"AWS_ENDPOINT_URL": "http://192.0.2.10:9000"}
    assert found["ConfigMap", Storage().registry_environment]["data"] == {
        "MLFLOW_TRACKING_URI": "https://m.example.org",
        "MLFLOW_S3_ENDPOINT_URL": "http://192.0.2.10:9000",
    }


def test_an_artifact_bucket_becomes_the_namespaces_repository(installed):
    found = installed("--artifact-bucket", "reports", "--s3-endpoint", "http://192.0.2.10:9000")
    repository = found["ConfigMap", "artifact-repositories"]
    default = repository["metadata"]["annotations"]["workflows.argoproj.io/default-artifact-repository"]
    s3 = yaml.safe_load(repository["data"][default])["s3"]
    assert (s3["bucket"], s3["endpoint"], s3["insecure"]) == ("reports", "192.0.2.10:9000", True)
    assert s3["secretKeySecret"] == {"name": "argosy-data", "key": "AWS_SECRET_ACCESS_KEY"}


# ---------------------------------------------------------------------------------------------- the network


@pytest.fixture
def egress(installed):
    """Rules of the policy but that for names, as text."""

    def call(*words):
        spec = installed(*words)["NetworkPolicy", "argosy-steps"]["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert "ingress" not in spec
        names, *others = spec["egress"]
        assert {one["port"] for one in names["ports"]} == {53}
        return [_told(one) for one in others]

    return call


def _told(rule):
    ports = ",".join(str(one["port"]) for one in rule.get("ports", [])) or "any"
    peers = [
        one["ipBlock"]["cidr"]
        if "ipBlock" in one
        else one["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        for one in rule.get("to", [{"ipBlock": {"cidr": "anywhere"}}])
    ]
    return f"{','.join(peers)}:{ports}"


API = ["--kubernetes-api", "10.96.0.1/32:443"]


@pytest.mark.parametrize(
    ("words", "rules"),
    [
        ([], ["anywhere:443,6443"]),
        (API, ["10.96.0.1/32:443"]),
        ([*API, "--s3-endpoint", "http://192.0.2.10:9000"], ["10.96.0.1/32:443", "192.0.2.10/32:9000"]),
        ([*API, "--s3-endpoint", "http://[2001:db8::1]:9000"], ["10.96.0.1/32:443", "2001:db8::1/128:9000"]),
        ([*API, "--mlflow", "http://mlflow.mlops.svc:5000"], ["10.96.0.1/32:443", "mlops:any"]),
        ([*API, "--mlflow", "http://mlflow.mlops.svc.cluster.local"], ["10.96.0.1/32:443", "mlops:any"]),
        ([*API, "--mlflow", "http://mlflow:5000"], ["10.96.0.1/32:443", "argosy:any"]),
        ([*API, "--git", "https://git.example.org"], ["10.96.0.1/32:443", "anywhere:443"]),
        ([*API, "--git", "http://git.example.org", "--egress", "namespace/git"], ["10.96.0.1/32:443", "git:any"]),
        ([*API, "--egress", "[2001:db8::]/64:443"], ["10.96.0.1/32:443", "2001:db8::/64:443"]),
    ],
)  # fmt: skip
def test_pods_reach_the_kubernetes_api_and_the_stores_and_nothing_else(egress, words, rules):
    assert egress(*words) == rules


def test_the_policy_is_for_pods_of_workflows(installed):
    spec = installed()["NetworkPolicy", "argosy-steps"]["spec"]
    assert spec["podSelector"] == {
        "matchExpressions": [{"key": "workflows.argoproj.io/workflow", "operator": "Exists"}]
    }


# ---------------------------------------------------------------------------------------------- several nodes

NODES = {"podSelector": {"matchLabels": {"argosy.dev/gang": "true"}}}


def test_nodes_of_a_training_are_found_by_name_before_they_are_ready(installed):
    spec = installed()["Service", "argosy-gang"]["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == NODES["podSelector"]["matchLabels"]


def test_nodes_of_a_training_reach_each_other_on_any_port_and_nobody_else_reaches_them(installed):
    spec = installed(*API)["NetworkPolicy", "argosy-gang"]["spec"]
    assert spec["podSelector"] == NODES["podSelector"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"from": [NODES]}]
    assert {"to": [NODES]} in spec["egress"]


def test_nodes_of_a_training_reach_the_stores_and_not_the_kubernetes_api(installed):
    spec = installed(*API, "--s3-endpoint", "http://192.0.2.10:9000")["NetworkPolicy", "argosy-gang"]["spec"]
    blocks = [peer["ipBlock"]["cidr"] for rule in spec["egress"] for peer in rule["to"] if "ipBlock" in peer]
    assert "192.0.2.10/32" in blocks
    assert "10.96.0.1/32" not in blocks


def test_a_queue_is_printed_only_where_one_is_asked_for(installed):
    assert "LocalQueue" not in {kind for kind, _ in installed()}
    queue = installed("--queue", "train")["LocalQueue", "train"]
    assert (queue["apiVersion"], queue["spec"]) == ("kueue.x-k8s.io/v1beta2", {"clusterQueue": "train"})


def test_the_cluster_queue_that_it_needs_is_told_as_an_example_that_can_be_applied():
    notes = install("--queue", "train").stderr
    example = notes[notes.index("  apiVersion: kueue.x-k8s.io") :]
    flavor, queue = yaml.safe_load_all(re.sub("^  ", "", example, flags=re.MULTILINE))
    (group,) = queue["spec"]["resourceGroups"]
    assert (queue["kind"], queue["metadata"]["name"]) == ("ClusterQueue", "train")
    assert group["flavors"][0]["name"] == flavor["metadata"]["name"]
    assert group["coveredResources"] == [one["name"] for one in group["flavors"][0]["resources"]]


def test_claims_that_one_node_alone_can_mount_are_said_to_be_too_few_for_several():
    assert "on several nodes need ReadWriteMany" in install("--access-mode", "ReadWriteOnce").stderr
    assert "ReadWriteMany" not in install().stderr


# ---------------------------------------------------------------------------------------------- the node's folder


def test_the_daemon_set_has_one_right_and_that_for_a_moment(installed):
    pod = installed("--image", "x:1")["DaemonSet", "argosy-node-folder"]["spec"]["template"]["spec"]
    (give,), (wait,) = pod["initContainers"], pod["containers"]
    assert give["securityContext"]["capabilities"] == {"add": ["CHOWN"], "drop": ["ALL"]}
    assert wait["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert wait["securityContext"]["runAsNonRoot"]
    assert "volumeMounts" not in wait
    assert pod["automountServiceAccountToken"] is False


def test_a_folder_is_data_in_the_daemon_set(installed):
    folder = "/mnt/$(id)\";'x"
    pod = installed("--image", "x:1", "--node-folder", folder)["DaemonSet", "argosy-node-folder"]["spec"]["template"][
        "spec"
    ]
    assert pod["volumes"][0]["hostPath"]["path"] == folder
    assert not any(folder in word for one in pod["initContainers"] for word in one["command"])


# ---------------------------------------------------------------------------------------------- notes and mistakes


def test_the_notes_tell_how_secrets_are_made_without_a_value_in_them():
    notes = install("-n", "vision", "--mlflow", "https://m.example.org", "--git", "https://g.example.org").stderr
    created = re.findall(r"kubectl create secret generic -n vision (\S+) (\S+)", notes)
    assert dict(created) == {
        "argosy-data": "--from-env-file=FILE",
        "argosy-registry": "--from-env-file=FILE",
        "argosy-git": "--from-file=.netrc=FILE",
        "argo-workflows-webhook-clients": "--from-file=argosy-triggers=FILE",
    }
    assert "--auth-mode=server" in notes
    assert "install -d -o 1000 -g 1000 /var/lib/argosy/cache" in notes


def test_what_was_settled_is_no_note():
    words = ["--image", "x:1", *API, "--egress", "10.0.0.0/8:443"]
    notes = install(*words).stderr
    for settled in ("install -d", "--kubernetes-api", "--egress", "MLFLOW"):
        assert settled not in notes


MISTAKES = {
    "a name": (["-n", "Vision"], "--namespace: 'Vision' does not look right"),
    "a size": (["--models-size", "5 GB"], "--models-size: '5 GB' is no amount of memory"),
    "a folder": (["--node-folder", "cache"], "--node-folder: 'cache' does not look right"),
    "an address": (["--mlflow", "mlflow:5000"], "--mlflow: 'mlflow:5000' is no address; write https://HOST"),
    "credentials": (["--s3-endpoint", "https://a:b@s3.example.org"], "--s3-endpoint: the address holds credentials"),
    "a destination": (["--egress", "s3.example.org:443"], "--egress: 's3.example.org:443' is no destination; write"),
    "a namespace": (["--egress", "namespace/Foo_Bar"], "--egress: 'namespace/Foo_Bar' is no destination; write"),
    "a page": (["--mlflow", "https://m.example.org/?x=1#y"], "'https://m.example.org/?x=1#y' is no address; write"),
    "a port": (["--egress", "10.0.0.0/8:0"], "is no destination"),
    "a network": (["--kubernetes-api", "10.0.0.1/8:443"], "--kubernetes-api: '10.0.0.1/8:443' is no destination"),
    "an image for nothing": (["--image", "x", "--cache", "claim"], "--image: it prepares a node's folder, and"),
    "a folder of the system": (["--node-folder", "/etc"], "--node-folder: /etc is the node's own; give the cache"),
    "a folder within": (["--node-folder", "/usr/lib/x"], "--node-folder: /usr/lib/x is the node's own"),
    "a way out": (["--node-folder", "/mnt/../etc"], "--node-folder: /mnt/../etc is the node's own"),
    "everybody's folder": (["--node-folder", "/var/lib"], "--node-folder: /var/lib is the node's own"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_of_the_option(words, message):
    done = install(*words)
    assert done.stdout == ""
    assert message in done.mistake
    assert len(done.mistake.splitlines()) == 1


def test_there_is_an_option_for_each_setting_and_none_more():
    assert {one.name for one in command.params} == set(Installation.model_fields)


def test_names_are_those_that_compiled_pipelines_use():
    from argosy.pipelines import graph, pods
    from argosy.pipelines.code import Git
    from argosy.pipelines.install import accounts, objects

    assert accounts.STEPS == graph.SERVICE_ACCOUNT
    assert objects.USER == pods.USER
    git = Git("https://git.example.org/x.git").credentials
    assert f" {git} --from-file=.netrc" in install("--git", "https://git.example.org").stderr
