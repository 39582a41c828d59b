"""The command line as a user meets it: help, names, and mistakes. Nothing runs here."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from argosy.pipelines import cli

FLAGS = Path(__file__).with_name("cli_flags.txt")
WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: hello-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: epochs, value: "1"}, {name: seed, value: "0"}]}
  templates: [{name: main, container: {image: x, command: ["true"]}}]
"""
HERA = """
from hera.workflows import Container, Workflow

with Workflow(generate_name="hello-", entrypoint="main") as workflow:
    Container(name="main", image="x", command=["true"])
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "hello.yaml").write_text(WORKFLOW)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "greet.py").write_text(HERA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands():
    context = click.Context(cli.argosy)
    return {name: cli.argosy.get_command(context, name) for name in cli.argosy.list_commands(context)}


def flags():
    """A line for each command: its arguments, then its options."""
    for name, command in {"": cli.argosy, **commands()}.items():
        words = [" ".join(one.opts + one.secondary_opts) for one in command.params if isinstance(one, click.Option)]
        arguments = [
            one.make_metavar(click.Context(command)) for one in command.params if isinstance(one, click.Argument)
        ]
        yield " ".join(part for part in ("argosy", name, *arguments, *words) if part)


def test_commands_and_options_are_those_that_were_agreed_on():
    assert "\n".join(flags()) + "\n" == FLAGS.read_text()


@pytest.mark.parametrize("words", [["--help"], ["--version"], [], ["run", "--help"], ["logs", "-h"]])
def test_help_imports_nothing_heavy(words):
    heavy = ["hera", "pydantic", "yaml", "msgspec", "rich", "torch", "mlflow", "dvc", "asyncio"]
    code = f"""
import sys
from argosy.pipelines.cli import main
sys.argv = ["argosy", *{words!r}]
try:
    main()
finally:
    print(*sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""
    assert done.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_every_command_has_an_example_and_fits_a_line_in_the_list(argosy, name):
    command = commands()[name]
    assert argosy(name, "-h").stdout == argosy(name, "--help").stdout
    assert f"Example: argosy {name}" in command.epilog
    assert not command.get_short_help_str(limit=60).endswith("...")


def test_the_help_tells_exit_codes_and_completion(argosy):
    told = argosy("--help").stdout
    assert "3    a gate said no" in told
    assert "_ARGOSY_COMPLETE=bash_source argosy" in told


@pytest.mark.parametrize("group", ["cache", "data", "images"])
def test_a_group_without_a_command_shows_its_help_as_it_is(argosy, group):
    done = argosy(group)
    assert done.returncode == 2
    assert done.stderr.startswith(f"Usage: argosy {group} ")
    assert "argosy: " not in done.stderr


def test_the_version_is_the_packages(argosy):
    from importlib.metadata import version

    assert argosy("--version").stdout == f"argosy {version('argosy')}\n"


# ---------------------------------------------------------------------------------------------- mistakes

MISTAKES = {
    "unknown command": (["rum"], "there is no command 'rum'; did you mean run?"),
    "unknown option": (["run", "--agian"], "No such option '--agian'. Did you mean '--again'? `argosy run --help`"),
    "missing argument": (["run"], "Missing argument 'PIPELINE'. `argosy run --help`"),
    "unknown pipeline": (["run", "great"], "there is no pipeline 'great'; did you mean greet?"),
    "a file of another kind": (["check", "pyproject.toml"], "pyproject.toml is no pipeline and no manifest; name a"),
    "a folder": (["check", "./"], ". is no pipeline and no manifest; name a pipeline, a Python file (.py) or a"),
    "missing file": (["run", "nope.yaml"], "there is no file nope.yaml; name a pipeline, a Python file or a manifest"),
    "missing variable": (["compile", "pipelines/greet.py:x"], "defines no x; name one of workflow"),
    "no value": (["run", "hello.yaml", "-p", "epochs"], "'epochs' is not NAME=VALUE; write -p epochs=3 for example."),
    "two values": (["run", "hello.yaml", "-p", "epochs=1", "-p", "epochs=2"], "'epochs' is given twice; leave one."),
    "unknown parameter": (["run", "hello.yaml", "-p", "epoch=1"], "did you mean epochs?"),
    "compiling a manifest": (["compile", "hello.yaml"], "hello.yaml is a manifest already; `argosy check` checks one"),
    "missing folder": (["compile", "greet", "-o", "no/x.yaml"], "there is no folder no; make it, or name another"),
    "no run": (["show"], "there is no run in"),
    "no run to retry": (["retry"], "there is no run in"),
    "unknown run": (["logs", "x", "y"], "there is no run 'x'; "),
}


@pytest.mark.parametrize(("words", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_with_its_remedy_and_exit_code_2(argosy, words, told):
    done = argosy(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("argosy: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


BROKEN_MANIFESTS = {
    "no YAML": ("a: [", "standard input: line 2, column 1: did not find"),
    "no Workflow": ("kind: Pod", "kind: expected Workflow, found Pod"),
    "two": (f"{WORKFLOW}\n---\n{WORKFLOW}", "found 2 documents"),
    "not for one machine": (
        WORKFLOW.replace("container: {", "resource: {action: x}, x: {"),
        "cannot be run on one machine",
    ),
    "wrong type": (WORKFLOW.replace("entrypoint: main", "entrypoint: [1]"), "entrypoint"),
}


@pytest.mark.parametrize(("text", "told"), BROKEN_MANIFESTS.values(), ids=BROKEN_MANIFESTS)
def test_a_manifest_that_cannot_run_is_refused_before_anything_starts(argosy, project, text, told):
    done = argosy("run", "-", input=text)
    assert done.returncode == 2
    assert all(line.startswith("argosy: ") for line in done.stderr.splitlines())
    assert told in done.stderr
    assert not (project / ".argosy").exists()


def test_bytes_that_are_no_text_are_no_manifest(argosy, project):
    (project / "x.yaml").write_bytes(b"\xff\xfe\x00")
    assert argosy("run", "x.yaml").stderr == "argosy: x.yaml is no text; name a manifest in YAML or JSON\n"


def test_a_users_python_error_is_told_with_its_line_and_without_a_traceback(argosy, project):
    (project / "pipelines" / "greet.py").write_text("Pipeline(\n)\n")
    done = argosy("run", "greet")
    assert done.returncode == 2
    assert done.stderr.startswith("argosy: ")
    assert "greet.py:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_in_the_way_is_told_in_one_line(argosy, project):
    (project / ".argosy").write_text("in the way")
    done = argosy("run", "hello.yaml")
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 2


# ---------------------------------------------------------------------------------------------- compile, check


def test_compile_prints_the_manifest_or_writes_the_same_bytes(argosy, project):
    printed = argosy("compile", "greet").stdout
    assert "kind: Workflow" in printed
    assert argosy("compile", "pipelines/greet.py:workflow", "-o", "out.yaml").returncode == 0
    assert (project / "out.yaml").read_text() == printed
    assert sorted(path.name for path in project.glob("*out*")) + list(project.glob(".*.part")) == ["out.yaml"]


def test_a_file_of_a_pipelines_name_is_that_pipeline_however_broken(argosy, project):
    (project / "pipelines" / "my_model.py").write_text("x = 1\n")
    done = argosy("compile", "my-model")
    assert done.returncode == 2
    assert "my_model.py: defines no Pipeline and no Workflow" in done.stderr


def test_a_file_that_only_speaks_of_pipelines_is_not_offered(argosy, project):
    (project / "pipelines" / "spec.py").write_text("class Pipeline(object):\n    x = Workflow()\n")
    assert "; there are greet\n" in argosy("compile", "nope").stderr


def test_a_pipelines_name_is_found_from_any_folder_of_the_project(argosy, project, monkeypatch):
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    assert argosy("compile", "greet").returncode == 0


def test_check_says_ok_with_counts_and_names_what_it_checked_against(argosy, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")
    said = "ok: 1 template and 0 tasks checked, by argosy's rules, Argo's schema (Hera's models)"
    for words in (["greet"], ["hello.yaml"]):
        done = argosy("check", *words)
        assert (done.returncode, done.stdout) == (0, f"{said}; not by argo lint: there is no argo on PATH\n")


def test_check_prints_every_problem_and_ends_with_1(argosy, project):
    bad = WORKFLOW.replace("entrypoint: main", "entrypoint: man").replace(
        "generateName: hello-", "generateName: He_llo-"
    )
    (project / "bad.yaml").write_text(bad)
    done = argosy("check", "bad.yaml")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("2 problems, by ")
    told = json.loads(argosy("check", "bad.yaml", "--json").stdout)
    assert told["ok"] is False
    assert [set(problem) for problem in told["problems"]] == [{"where", "what", "remedy"}] * 2


def test_check_of_a_file_that_cannot_be_loaded_is_a_problem_of_the_file(argosy, project):
    (project / "pipelines" / "greet.py").write_text("Workflow(")
    done = argosy("check", "greet")
    assert done.returncode == 1
    assert "greet.py:1: syntax error" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 problem"
    assert json.loads(argosy("check", "greet", "--json").stdout)["validations"] == []


def test_argo_lint_is_run_where_there_is_an_argo(argosy, project, monkeypatch):
    folder = project / "bin"
    folder.mkdir()
    (folder / "argo").write_text("#!/bin/sh\ncat >/dev/null\necho 'x.yaml: linted badly'\nexit 1\n")
    (folder / "argo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    done = argosy("check", "hello.yaml")
    assert done.returncode == 1
    assert "argo lint: linted badly" in done.stdout
    assert "argo lint\n" in done.stdout


# ---------------------------------------------------------------------------------------------- completion


def test_the_shell_completes_commands_and_pipelines(completed):
    assert completed("ret") == ["retry"]
    assert completed("run", "g") == ["greet"]


def test_the_shell_completes_a_pipelines_name_as_it_is_written_elsewhere(completed, project):
    (project / "pipelines" / "greet.py").rename(project / "pipelines" / "my_model.py")
    assert completed("run", "m") == ["my-model"]
