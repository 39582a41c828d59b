"""The steps as Hera templates: derived from the contracts, and usable in any workflow."""

import json

import pytest

from argosy.pipelines import (
    Accuracy,
    Claim,
    CustomGate,
    Dataset,
    Git,
    Latency,
    Memory,
    ModelSize,
    NodeFolder,
    NotWorseThanChampion,
    Parity,
    Registry,
    Resources,
    Scratch,
    Slices,
    Storage,
    Training,
    templates,
)
from argosy.pipelines.expressions import expr
from argosy.steps import values
from argosy.steps.arguments import parsed
from argosy.steps.contracts import CONTRACTS, RETRIED_EXIT_CODES, ExitCode, Step, option
from argosy.steps.digits_hyperparameters import DigitsHyperparameters
from argosy.steps.pins import Source
from argosy.steps.pins import sources as sources_of

HASH = "0123456789abcdef0123456789abcdef.dir"
GIVEN = {
    "dataset": "data/digits",
    "dataset-hash": HASH,
    "dataset-pin": '{"dataset":"data/digits","revision":"","sources":[{"path":"data/digits","hash":"' + HASH + '",'
    '"remote":{"name":"store","url":"s3://bucket/data"}}]}',
    "node": "node-1",
    "model": "run/model",
    "model-hash": "f" * 64,
    "accuracy-gate": '{"gate":"accuracy-gate","answer":"pass","metric":"accuracy","estimate":0.95,"bound":0.93,'
    '"threshold":0.9,"margin":0.03,"confidence":0.95,"samples":360,"reason":"good"}',
}
TASK = "argosy.steps.digits:Digits"
CHAMPION = NotWorseThanChampion(margin=0.01, cluster="patient", samples=200, looks=2, inconclusive="pass")
ALL = {
    Step.STAGE: templates.stage(Dataset("data/digits"), image="i"),
    Step.TRAIN: templates.train(Training(task=TASK, hyperparameters=DigitsHyperparameters()), image="i"),
    Step.ACCURACY_GATE: templates.gate(Accuracy(at_least=0.9), task=TASK, image="i"),
    Step.SLICES_GATE: templates.gate(Slices(by="hospital", at_least=0.9), task=TASK, image="i"),
    Step.CHAMPION_GATE: templates.gate(CHAMPION, task=TASK, image="i", registry=Registry("digits")),
    Step.SIZE_GATE: templates.gate(ModelSize(at_most_mib=9), task=TASK, image="i"),
    Step.PARITY_GATE: templates.gate(Parity(at_most=1e-4), task=TASK, image="i"),
    Step.CUSTOM_GATE: templates.gate(CustomGate(function="a.b:c", at_most=1), task=TASK, image="i"),
    Step.LATENCY_GATE: templates.gate(Latency(quantile=0.99, at_most_ms=50), task=TASK, image="i"),
    Step.MEMORY_GATE: templates.gate(Memory(at_most_mib=100), task=TASK, image="i"),
    Step.PUBLISH: templates.publish(Registry("digits"), gates=["accuracy-gate"], task=TASK, image="i"),
}
each_step = pytest.mark.parametrize("step", ALL)
CODE = Git("https://git.example.org/team/digits.git")
FETCHED = {
    Step.STAGE: templates.stage(Dataset("data/digits"), image="i", code=CODE),
    Step.TRAIN: templates.train(Training(task=TASK, hyperparameters=DigitsHyperparameters()), image="i", code=CODE),
    Step.ACCURACY_GATE: templates.gate(Accuracy(at_least=0.9), task=TASK, image="i", code=CODE),
}


def built(step, templates=ALL):
    return templates[step]._build_template().model_dump(exclude_none=True, by_alias=True)


def containers(template):
    """Name -> container, `main` among them."""
    return {"main": template["container"], **{one["name"]: one for one in template.get("initContainers", [])}}


def replaced(template, words):
    """What Argo makes of the arguments."""
    values = {one["name"]: one.get("default") for one in template["inputs"]["parameters"]} | GIVEN
    for name, value in values.items():
        words = [word.replace(f"{{{{inputs.parameters.{name}}}}}", value or "") for word in words]
    for name, value in {"name": "run-1", "uid": "u-1", "parameters.json": "[]"}.items():
        words = [word.replace(f"{{{{workflow.{name}}}}}", value) for word in words]
    return words


@each_step
def test_arguments_are_what_the_step_takes(step):
    template = built(step)
    name, *words = replaced(template, template["container"]["args"])
    assert name == step
    parsed(CONTRACTS[step][0], words)


@each_step
def test_outputs_are_the_fields_that_the_step_gives_and_the_record(step):
    found = {one["name"]: one["valueFrom"]["path"] for one in built(step)["outputs"]["parameters"]}
    expected = {option(field): f"/argosy/output/{option(field)}" for field in CONTRACTS[step][1].model_fields}
    assert found == expected | {"record": "/argosy/output/record.json"}


@each_step
def test_no_value_passes_through_a_shell(step):
    template = built(step)
    assert "script" not in template
    for pod in [template["container"], *template.get("initContainers", [])]:
        assert pod["command"] == ["python", "-m", "argosy.steps"]
        assert all(word.startswith("--") for word in pod["args"][1:])


@each_step
def test_pods_have_no_rights_that_they_do_not_need(step):
    template = built(step)
    assert template["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for pod in [template["container"], *template.get("initContainers", [])]:
        rights = pod["securityContext"]
        assert (rights["allowPrivilegeEscalation"], rights["readOnlyRootFilesystem"]) == (False, True)
        assert rights["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("step", "writable"),
    [
        (Step.STAGE, {"/argosy/cache"}),
        (Step.TRAIN, {"/argosy/models", "/dev/shm"}),
        (Step.ACCURACY_GATE, set()),
        (Step.LATENCY_GATE, set()),
        (Step.CHAMPION_GATE, set()),
        (Step.PUBLISH, {"/argosy/registry"}),
    ],
)
def test_a_step_can_write_only_what_it_makes(step, writable):
    mounts = built(step)["container"]["volumeMounts"]
    found = {one["mountPath"] for one in mounts if not one.get("readOnly")}
    assert found == writable | {"/argosy/output", "/tmp"}


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE, Step.LATENCY_GATE, Step.MEMORY_GATE])
def test_data_is_ensured_on_whichever_node_the_pod_came_to(step):
    (ensure,) = built(step)["initContainers"]
    name, *words = replaced(built(step), ensure["args"])
    inputs = parsed(CONTRACTS[Step(name)][0], words)
    assert inputs.dataset_pin.hash == HASH
    assert "readOnly" not in next(one for one in ensure["volumeMounts"] if one["mountPath"] == "/argosy/cache")


@pytest.mark.parametrize(("step", "others"), [(Step.TRAIN, {"seed"}), (Step.ACCURACY_GATE, {"model", "revision"})])
def test_after_staging_a_pod_is_given_hashes_and_needs_no_git(step, others):
    named = {one["name"] for one in built(step)["inputs"]["parameters"]}
    assert {"dataset-hash", "dataset-pin"} | others <= named
    assert "dataset" not in named
    assert "revision" in {one["name"] for one in built(step, FETCHED)["inputs"]["parameters"]}


def test_training_needs_no_revision_where_the_image_holds_the_code():
    assert "revision" not in {one["name"] for one in built(Step.TRAIN)["inputs"]["parameters"]}


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE])
def test_the_node_that_has_the_data_is_preferred_and_never_waited_for(step):
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["{{inputs.parameters.node}}"]}]}
    assert built(step)["affinity"] == {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}
    }
    assert {"name": "node"} in built(step)["inputs"]["parameters"]


@pytest.mark.parametrize("cache", [Claim("shared"), Scratch()])
def test_no_node_is_preferred_where_the_data_is_no_nodes(cache):
    template = templates.train(Training(task=TASK), image="i", storage=Storage(cache=cache))
    made = template._build_template().model_dump(exclude_none=True, by_alias=True)
    assert "affinity" not in made
    assert "node" not in {one["name"] for one in made["inputs"]["parameters"]}


@pytest.mark.parametrize(("step", "container"), [(Step.STAGE, "main"), (Step.TRAIN, "ensure-data")])
def test_what_stages_knows_its_node(step, container):
    source = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert {"name": "ARGOSY_NODE", "valueFrom": source} in containers(built(step))[container]["env"]


def staging(storage, dataset=Dataset("d")):  # noqa: B008 - a noun is frozen
    made = templates.stage(dataset, image="i", storage=storage)._build_template()
    return made.model_dump(exclude_none=True, by_alias=True)


def test_a_semaphore_counts_the_pods_that_stage_and_no_others():
    reference = {"configMapKeyRef": {"name": "argosy-staging", "key": "pods"}}
    assert built(Step.STAGE)["synchronization"] == {"semaphores": [reference]}
    assert not [step for step in ALL if step != Step.STAGE and "synchronization" in built(step)]


def test_a_pipeline_may_have_a_semaphore_of_its_own_or_none():
    (reference,) = staging(Storage(staging="mine"))["synchronization"]["semaphores"]
    assert reference["configMapKeyRef"]["name"] == "mine"
    assert "synchronization" not in staging(Storage(staging=None))


@pytest.mark.parametrize(
    "kind", [lambda **limits: NodeFolder("/mnt/nvme", **limits), lambda **limits: Claim("c", **limits)]
)
def test_limits_of_the_cache_and_of_fetching_reach_every_pod_that_stages(kind):
    cache = kind(at_most="1.5Ti", at_most_files=2_000_000)
    storage = Storage(cache=cache, connections=64, at_most_mb_per_second=12.5)
    training = templates.train(Training(task=TASK), image="i", storage=storage)._build_template()
    for pod in (staging(storage)["container"], containers(training.model_dump(by_alias=True))["ensure-data"]):
        assert {
            "--cache-bytes=1649267441664",
            "--cache-files=2000000",
            "--connections=64",
            "--bytes-per-second=12500000",
        } <= set(pod["args"])


def test_without_limits_the_contracts_defaults_hold():
    template = built(Step.STAGE)
    name, *words = replaced(template, template["container"]["args"])
    inputs = parsed(CONTRACTS[Step(name)][0], words)
    for field in ("cache_bytes", "cache_files", "connections", "bytes_per_second"):
        assert getattr(inputs, field) == type(inputs).model_fields[field].default


# ---------------------------------------------------------------------------------------------- datasets


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        (Dataset("data/a b"), [Source(path="data/a b")]),
        (Dataset("[x]/{{y}}/$(z)"), [Source(path="[x]/{{y}}/$(z)")]),
        (Dataset("a", only=["*.tar", "{{x}}"]), [Source(path="a", only=("*.tar", "{{x}}"))]),
        (Dataset("a", name="b"), [Source(path="a", name="b")]),
        ([Dataset("a")], [Source(path="a")]),
        ([Dataset("x/a"), Dataset("y/a", name="b")], [Source(path="x/a"), Source(path="y/a", name="b")]),
    ],
)
def test_the_pod_reads_the_datasets_that_were_written(datasets, expected):
    template = staging(Storage(), datasets)
    text = next(one["default"] for one in template["inputs"]["parameters"] if one["name"] == "dataset")
    assert "{{" not in text
    assert "$(" not in text
    assert list(sources_of(values.decode(text, str))) == expected


def test_one_whole_dataset_is_named_by_its_path_alone():
    parameters = staging(Storage(), [Dataset("data/digits")])["inputs"]["parameters"]
    assert {"name": "dataset", "default": "data/digits"} in parameters


def test_the_pod_that_stages_several_datasets_gets_the_most_that_any_of_them_asks_for():
    asked = [Resources(cpu="500m", memory="2Gi"), Resources(cpu=1.5, memory="512Mi"), Resources(cpu=1, memory="1G")]
    template = staging(Storage(), [Dataset(f"d{number}", resources=one) for number, one in enumerate(asked)])
    assert template["container"]["resources"]["requests"] == {"cpu": "1.5", "memory": "2Gi"}


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE])
def test_the_record_of_ensuring_is_not_taken_for_the_steps_own(step):
    (ensure,) = built(step)["initContainers"]
    assert "--output=/argosy/output/ensure-data" in ensure["args"]


@each_step
def test_infrastructure_alone_is_tried_again(step):
    strategy = built(step)["retryStrategy"]
    assert (strategy["limit"], strategy["retryPolicy"]) == (100 if step == Step.TRAIN else 5, "Always")
    assert (strategy["backoff"]["duration"], strategy["backoff"]["cap"]) == ("5s", "5m")

    def is_retried(code, status="Failed", message=""):
        known = {"exitCode": str(code), "status": status, "message": message}
        return expr.evaluate(strategy["expression"], {"lastRetry": known})

    lasting = {ExitCode.CODE, ExitCode.DATA, ExitCode.CONFIGURATION, ExitCode.GATE_FAILED, 139}
    assert all(is_retried(code) for code in RETRIED_EXIT_CODES)
    assert not any(is_retried(code) for code in lasting)
    assert is_retried(0, "Error", "wait: Error (exit code 64)")


def test_damaged_data_is_not_fetched_again_and_again():
    expression = built(Step.TRAIN)["retryStrategy"]["expression"]

    def is_retried(message):
        known = {"exitCode": "-1", "status": "Failed", "message": message}
        return expr.evaluate(expression, {"lastRetry": known})

    assert not is_retried("ensure-data: Error (exit code 65): data/digits: 3 files are damaged")
    assert is_retried("ensure-data: Error (exit code 75): the remote did not answer")
    assert is_retried("pod deleted")


def test_training_has_its_grace_and_no_more_ranks_than_gpus():
    training = Training(task=TASK, ranks_per_node=2, resources=Resources(cpu=8, memory="64Gi", gpus=2), grace="5m")
    template = templates.train(training, image="i")._build_template().model_dump(exclude_none=True, by_alias=True)
    assert json.loads(template["podSpecPatch"])["terminationGracePeriodSeconds"] == 300
    assert template["container"]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert {"--ranks=2", "--gpus=2"} <= set(template["container"]["args"])
    assert "nvidia.com/gpu" not in template["initContainers"][0]["resources"]["limits"]


def test_a_server_that_keeps_the_registry_needs_no_volume():
    registry = Registry("digits", tracking_uri="https://mlflow.example.org")
    template = templates.publish(registry, gates=["g"], task=TASK, image="i")._build_template()
    assert not [word for word in template.container.args if word.startswith("--folder")]
    assert "registry" not in {one.name for one in template.volumes}


def test_a_registry_without_an_address_has_its_volume_in_case_the_environment_names_none():
    template = built(Step.PUBLISH)
    assert {"--tracking-uri=", "--folder=/argosy/registry"} <= set(template["container"]["args"])
    assert "registry" in {one["name"] for one in template["volumes"]}


def test_storage_names_the_cache_and_the_claims():
    storage = Storage(cache=NodeFolder("/mnt/nvme"), models_claim="m", registry_claim="r")
    template = templates.publish(Registry("digits"), gates=["g"], task=TASK, image="i", storage=storage)
    assert {one.persistent_volume_claim.claim_name for one in template.volumes if one.persistent_volume_claim} == {
        "m",
        "r",
    }


@pytest.mark.parametrize(
    ("cache", "volume", "node_folder"),
    [
        (NodeFolder("/mnt/nvme"), {"hostPath": {"path": "/mnt/nvme", "type": "DirectoryOrCreate"}}, "/mnt/nvme"),
        (Claim("shared"), {"persistentVolumeClaim": {"claimName": "shared"}}, ""),
        (Scratch(), {"emptyDir": {}}, ""),
    ],
)
def test_the_cache_is_a_nodes_folder_a_claim_or_the_pods_own(cache, volume, node_folder):
    training = templates.train(Training(task=TASK), image="i", storage=Storage(cache=cache))
    for template in (templates.stage(Dataset("d"), image="i", storage=Storage(cache=cache)), training):
        made = template._build_template().model_dump(exclude_none=True, by_alias=True)
        assert {"name": "cache", **volume} in made["volumes"]
        staging = containers(made).get("ensure-data", made["container"])
        assert f"--node-folder={node_folder}" in staging["args"]


# ---------------------------------------------------------------------------------------------- what the UI tells


@each_step
def test_the_first_output_is_the_answer_in_words(step):
    assert built(step)["outputs"]["parameters"][0]["name"] == "summary"


def test_every_parameter_of_a_run_is_described():
    from argosy.pipelines.digits import workflow

    parameters = workflow.to_dict()["spec"]["arguments"]["parameters"]
    assert [one["name"] for one in parameters if not one.get("description")] == []


# ---------------------------------------------------------------------------------------------- secrets and rights


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step.STAGE, {"fetch-code": set(), "main": {"argosy-data"}}),
        (Step.TRAIN, {"fetch-code": set(), "ensure-data": {"argosy-data"}, "main": set()}),
        (Step.ACCURACY_GATE, {"fetch-code": set(), "ensure-data": {"argosy-data"}, "main": set()}),
    ],
)
def test_credentials_reach_only_what_fetches_with_them_and_never_the_users_code(step, expected):
    found = containers(built(step, FETCHED))
    assert {name: sources(one) for name, one in found.items()} == expected
    holding = {name for name, one in found.items() if any(mount["name"] == "git" for mount in one["volumeMounts"])}
    assert holding == {"fetch-code"}


@pytest.mark.parametrize("step", FETCHED)
def test_the_repositorys_secret_need_not_be_there(step):
    volumes = built(step, FETCHED)["volumes"]
    assert {"name": "git", "secret": {"secretName": "argosy-git", "optional": True}} in volumes


@pytest.mark.parametrize("step", [Step.TRAIN, Step.ACCURACY_GATE])
def test_users_code_is_found_where_the_project_is(step):
    assert built(step)["container"]["workingDir"] == "/argosy/project"


@each_step
def test_every_container_has_a_last_word(step):
    for container in containers(built(step, ALL | FETCHED)).values():
        assert {"name": "ARGOSY_TERMINATION_LOG", "value": "/dev/termination-log"} in container["env"]


def test_what_publishes_gets_the_registrys_environment_and_nothing_of_the_project():
    template = built(Step.PUBLISH)
    assert sources(template["container"]) == {"argosy-registry"}
    assert "workingDir" not in template["container"]
    assert "initContainers" not in template


def sources(container):
    """Names of the ConfigMaps and Secrets, both of each name and both optional, that are a container's environment."""
    found = container.get("envFrom", [])
    for kind in ("configMapRef", "secretRef"):
        assert [one[kind]["optional"] for one in found if kind in one] == [True] * (len(found) // 2)
    return {reference["name"] for one in found for reference in one.values()}


@each_step
def test_argos_own_containers_pass_restricted_pod_security_and_alone_have_a_token(step):
    patch = json.loads(built(step)["podSpecPatch"])
    assert patch["automountServiceAccountToken"] is False
    (init,), (wait,) = patch["initContainers"], [one for one in patch["containers"] if one["name"] != "main"]
    assert (init["name"], wait["name"]) == ("init", "wait")
    assert not [one for one in patch["containers"] if one["name"] == "main" and "volumeMounts" in one]
    for container in (init, wait):
        rights = container["securityContext"]
        assert (rights["allowPrivilegeEscalation"], rights["capabilities"]) == (False, {"drop": ["ALL"]})
        (mount,) = container["volumeMounts"]
        assert (mount["mountPath"], mount["readOnly"]) == ("/var/run/secrets/kubernetes.io/serviceaccount", True)
        assert mount["name"] in {one["name"] for one in patch["volumes"]}
    assert patch["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["path"] == "token"


# ---------------------------------------------------------------------------------------------- code from git


@pytest.mark.parametrize("step", FETCHED)
def test_code_is_fetched_first_at_the_runs_revision_into_a_folder_of_the_pods(step):
    template = built(step, FETCHED)
    first = template["initContainers"][0]
    assert first["name"] == "fetch-code"
    name, *words = replaced(template, first["args"])
    words = [word.replace("{{inputs.parameters.revision}}", "c0ffee") for word in words]
    inputs = parsed(CONTRACTS[Step(name)][0], words)
    assert (inputs.repository, str(inputs.lock)) == (CODE.repository, "/opt/argosy/requirements.lock")
    assert {"name": "project", "emptyDir": {}} in template["volumes"]
    assert "revision" in {one["name"] for one in template["inputs"]["parameters"]}
    for container_name, container in containers(template).items():
        (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == "/argosy/project"]
        assert bool(mount.get("readOnly")) == (container_name != "fetch-code")


def test_a_revision_that_cannot_be_had_is_not_fetched_again_and_again():
    expression = built(Step.TRAIN, FETCHED)["retryStrategy"]["expression"]

    def is_retried(message):
        known = {"exitCode": "-1", "status": "Failed", "message": message}
        return expr.evaluate(expression, {"lastRetry": known})

    assert not is_retried("fetch-code: Error (exit code 78): revision: is empty")
    assert not is_retried("ensure-data: Error (exit code 65): data/digits: is damaged")
    assert is_retried("fetch-code: Error (exit code 75): the host did not answer")
    assert is_retried("fetch-code: Error (exit code 75): the host did not answer (exit code 1)")


# ---------------------------------------------------------------------------------------------- reports


def test_a_gate_hands_over_its_report_unpacked_where_the_pipeline_asks_for_it():
    gate = templates.gate(Accuracy(at_least=0.9), task=TASK, image="i", reports=True)
    (report,) = gate._build_template().model_dump(exclude_none=True, by_alias=True)["outputs"]["artifacts"]
    assert report == {"name": "report", "path": "/argosy/output/report.html", "archive": {"none": {}}, "optional": True}
    assert "artifacts" not in built(Step.ACCURACY_GATE)["outputs"]


# ---------------------------------------------------------------------------------------------- champion, publish


COMPARING = templates.publish(
    Registry("digits"), gates=["accuracy-gate"], task=TASK, image="i", comparisons=[CHAMPION], code=CODE
)


def comparing():
    return COMPARING._build_template().model_dump(exclude_none=True, by_alias=True)


def test_publishing_that_may_compare_again_is_told_how_and_has_the_data_and_the_code():
    template = comparing()
    name, *words = replaced(template, template["container"]["args"])
    inputs = parsed(CONTRACTS[Step(name)][0], words)
    told = inputs.comparisons["champion-gate"].model_dump(mode="json")
    expected = {name: value for name, value in CHAMPION.settings().items() if name in told}
    assert told == expected
    assert told["margin"] == 0.01
    assert str(inputs.cache) == "/argosy/cache"
    assert [one["name"] for one in template["initContainers"]] == ["fetch-code", "ensure-data"]
    assert template["container"]["workingDir"] == "/argosy/project"


def test_the_margin_that_was_edited_for_the_gate_holds_for_publishing_too():
    template = comparing()
    margin = next(one for one in template["inputs"]["parameters"] if one["name"] == "champion-margin")
    margin["default"] = "0.5"
    name, *words = replaced(template, template["container"]["args"])
    assert parsed(CONTRACTS[Step(name)][0], words).comparisons["champion-gate"].margin == 0.5


def test_publishing_that_compares_nothing_needs_no_data():
    template = built(Step.PUBLISH)
    assert "initContainers" not in template
    assert not [word for word in template["container"]["args"] if word.startswith(("--comparisons", "--cache"))]


@pytest.mark.parametrize("step", [Step.CHAMPION_GATE, Step.PUBLISH])
def test_what_reads_the_registry_has_its_environment_and_no_other_gate_has(step):
    def has_environment(one):
        sources = built(one)["container"].get("envFrom", [])
        return "argosy-registry" in {source["configMapRef"]["name"] for source in sources if "configMapRef" in source}

    assert has_environment(step)
    assert not [one for one in ALL if "gate" in one and one != Step.CHAMPION_GATE and has_environment(one)]


def test_the_champion_gate_can_read_the_registrys_folder_and_with_a_server_has_none():
    (mount,) = [one for one in built(Step.CHAMPION_GATE)["container"]["volumeMounts"] if "registry" in one["mountPath"]]
    assert mount["readOnly"] is True
    served = templates.gate(
        CHAMPION, task=TASK, image="i", registry=Registry("digits", tracking_uri="https://mlflow.example.org")
    )
    container = served._build_template().model_dump(exclude_none=True, by_alias=True)["container"]
    assert "--tracking-uri=https://mlflow.example.org" in container["args"]
    assert not [one for one in container["volumeMounts"] if "registry" in one["mountPath"]]


def test_a_pause_is_argos_own_and_shows_what_it_is_given():
    template = templates.pause("approval", ["accuracy-gate"])._build_template()
    made = template.model_dump(exclude_none=True, by_alias=True)
    assert made == {"name": "approval", "suspend": {}, "inputs": {"parameters": [{"name": "accuracy-gate"}]}}
