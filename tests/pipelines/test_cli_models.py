"""`argosy diff`, `reproduce` and `rollback`, as far as they need no registered model."""

import json

from argosy.pipelines.commands import registered


def test_two_runs_differ_in_the_parameter_that_was_given(argosy):
    one, other = (argosy("run", "greeting.yaml", "-p", f"word={word}").run for word in ("a", "b"))
    done = argosy("diff", one, other)
    assert done.returncode == 1
    assert done.stdout == f"- {one}\n+ {other}\n\nparameters\n  word\n    - a\n    + b\n"


def test_a_run_does_not_differ_from_itself(argosy):
    name = argosy("run", "greeting.yaml").run
    done = argosy("diff", name, name)
    assert (done.returncode, done.stdout) == (0, f"{name} and {name} differ in nothing that is known\n")


def test_differences_for_a_script(argosy):
    one, other = (argosy("run", "greeting.yaml", "-p", f"word={word}").run for word in ("a", "b"))
    told = json.loads(argosy("diff", one, other, "--json").stdout)
    assert told == {
        "left": one,
        "right": other,
        "differences": [{"heading": "parameters", "what": "word", "left": "a", "right": "b"}],
    }


def test_a_run_that_is_not_there_is_a_mistake(argosy):
    done = argosy("diff", "nothing-1", "nothing-2")
    assert done.returncode == 2
    assert "there is no run 'nothing-1'" in done.stderr


def test_what_names_no_model_is_a_mistake(argosy):
    done = argosy("reproduce", "digits")
    assert done.returncode == 2
    assert "'digits' names no model; write models:/NAME@ALIAS or models:/NAME/VERSION" in done.stderr


def test_what_can_be_no_registered_model_is_no_model_to_roll_back(argosy):
    for name in ("models:/digits", "", "odd/name"):
        done = argosy("rollback", name)
        assert done.returncode == 2
        assert f"{name!r} names no registered model; write its name alone" in done.stderr


def test_a_project_that_has_registered_nothing_says_where_mlflow_may_be_named(argosy):
    for words in (("reproduce", "models:/digits@champion"), ("rollback", "digits")):
        done = argosy(*words)
        assert done.returncode == 2
        assert "is nowhere; give --tracking-uri, or set MLFLOW_TRACKING_URI" in done.stderr


def test_a_password_in_an_argument_is_refused_and_not_repeated(argosy):
    for words in (("reproduce", "models:/digits@champion"), ("rollback", "digits")):
        done = argosy(*words, "--tracking-uri", "https://name:hidden@mlflow.example.org")
        assert done.returncode == 2
        assert "set MLFLOW_TRACKING_URI instead" in done.stderr
        assert "hidden" not in done.stderr


def test_an_address_from_the_environment_is_read_there_and_stands_in_no_argument(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://name:hidden@mlflow.example.org")
    assert registered.registry("digits", None) == {"registry": "digits"}


def test_a_tolerance_that_is_no_number_is_a_mistake(argosy):
    done = argosy("reproduce", "models:/digits/1", "--tolerance", "nan")
    assert done.returncode == 2
    assert "'nan' is no finite number" in done.stderr


def test_this_folders_files_are_not_for_a_cluster(argosy):
    done = argosy("reproduce", "models:/digits@champion", "--here", "--cluster")
    assert done.returncode == 2
    assert "--here takes the files of this folder, which a cluster does not see" in done.stderr
