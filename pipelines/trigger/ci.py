"""Files for the CI of GitHub and GitLab: a merge request shows how the manifest changes, the main branch submits it.

{PIPELINE} stands for the pipeline's name. The project is installed with what it needs, argosy among it, since its
tasks' imports are checked. The base's own modules come before the installed ones, which are the head's.
"""

DIFFERENCE = """\
argosy compile {PIPELINE} -o "$FOLDER/head.yaml"
git worktree add --quiet --detach "$FOLDER/base" "$BASE"
(cd "$FOLDER/base" && PYTHONPATH=$PWD argosy compile {PIPELINE} -o "$FOLDER/base.yaml") || : > "$FOLDER/base.yaml"
git worktree remove --force "$FOLDER/base"
# A manifest holds itself, packed, in one line: that says nothing to a reader.
for SIDE in base head; do sed '/ --manifest=/d' "$FOLDER/$SIDE.yaml" > "$FOLDER/$SIDE.txt"; done
diff -u --label base --label head "$FOLDER/base.txt" "$FOLDER/head.txt" > "$FOLDER/manifest.diff" || test $? -eq 1
"""
"""A base without the pipeline is as one without a manifest."""

GITHUB = """\
# Variables of the repository: ARGO_SERVER, ARGO_NAMESPACE. Secret: ARGO_TOKEN, of an account that may create workflows.
name: {PIPELINE}

on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

jobs:
  check:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
      with:
        fetch-depth: 0
        persist-credentials: false
    - uses: actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0
      with:
        python-version: "3.12"
    - run: python -m pip install --editable .
    - run: argosy check {PIPELINE}
    - name: How the manifest changes
      env:
        BASE: ${{ github.event.pull_request.base.sha }}
        FOLDER: ${{ runner.temp }}
      run: |
DIFFERENCE
        { echo '~~~diff'; cat "$FOLDER/manifest.diff"; echo '~~~'; } >> "$GITHUB_STEP_SUMMARY"
    - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
      with:
        name: manifest
        path: |
          ${{ runner.temp }}/head.yaml
          ${{ runner.temp }}/manifest.diff

  submit:
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
      with:
        persist-credentials: false
    - uses: actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0
      with:
        python-version: "3.12"
    - run: python -m pip install --editable .
    - run: argosy submit {PIPELINE}
      env:
        ARGO_SERVER: ${{ vars.ARGO_SERVER }}
        ARGO_NAMESPACE: ${{ vars.ARGO_NAMESPACE }}
        ARGO_TOKEN: ${{ secrets.ARGO_TOKEN }}
"""

GITLAB = """\
# Variables of the project: ARGO_SERVER, ARGO_NAMESPACE, and, masked and protected, ARGO_TOKEN, of an account that may
# create workflows.
default:
  image: python:3.12
  before_script:
  - python -m pip install --editable .

check:
  stage: test
  rules:
  - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  variables:
    GIT_DEPTH: "0"
    BASE: $CI_MERGE_REQUEST_DIFF_BASE_SHA
  script:
  - argosy check {PIPELINE}
  - |
    FOLDER=$(mktemp -d)
DIFFERENCE
    cp "$FOLDER/head.yaml" "$FOLDER/manifest.diff" .
  artifacts:
    expose_as: manifest
    paths:
    - head.yaml
    - manifest.diff

submit:
  stage: deploy
  dependencies: []
  rules:
  - if: $CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
  - argosy submit {PIPELINE}
"""


def github(pipeline: str) -> str:
    """`.github/workflows/PIPELINE.yaml`."""
    return _filled(GITHUB, pipeline, " " * 8)


def gitlab(pipeline: str) -> str:
    """`.gitlab-ci.yml`, or a file that it includes."""
    return _filled(GITLAB, pipeline, " " * 4)


def _filled(template: str, pipeline: str, indent: str) -> str:
    difference = "".join(f"{indent}{line}\n" for line in DIFFERENCE.splitlines())
    return template.replace("DIFFERENCE\n", difference).replace("{PIPELINE}", pipeline)
