"""Compose files of several parts are read as compose does it: inline Dockerfiles, `extends`, `include`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor.cli import linting
from gpudoctor.manifests import composed, rewrites
from gpudoctor.manifests.judging import Verdicts
from gpudoctor.manifests.spans import ManifestError
from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_troubles import CPU_IMAGE, L4, Files, causes, judged

INLINE = """services:
  a:
    gpus: all
    build:
      dockerfile_inline: |
        # syntax=docker/dockerfile:1
        ARG TORCH={}
        FROM ${{BASE:-python:3.12-slim}}

        ARG TORCH
        RUN {}
"""
GPU = "gpus: all"
EXTENDING = """services:
  a:
    extends: {{file: more/base.yaml, service: b}}
    {}
"""
BASE = """services:
  b:
    extends: c
    {}
  c:
    {}
"""


def places(found: Verdicts) -> list[str]:
    return [f"{one.place} {one.finding.cause}" for one in found.findings]


def inline(command: str, torch: str = "2.10.0") -> Files:
    return {"compose.yaml": INLINE.format(torch, command)}


def quoted(text: str) -> Files:
    """Return a compose file whose Dockerfile is written in another way than as a block of its lines."""
    return {"compose.yaml": f"services:\n  a:\n    gpus: all\n    build:\n      dockerfile_inline: {text}"}


@pytest.mark.parametrize(("files", "expected"), [
    (inline("pip install torch==$$TORCH", "2.15.0"), ["compose.yaml:11:25 driver-too-old"]),
    (inline("pip install torch==$$TORCH"), []),
    (inline("pip install a && pip install numpy>=1.26"), ["compose.yaml:11:42 requirement-not-quoted"]),
    (inline("<<EOF\n        pip install a 'b>1' \\\n          numpy>=1.26\n        EOF"),
     ["compose.yaml:13:11 requirement-not-quoted"]),
    (inline("echo \"a"), ["compose.yaml:11:18 shell-not-parsed"]),
    ({"compose.yaml": "services:\n  a:\n    build: {dockerfile_inline: FROM "
                      "nvidia/cuda:12.4.1-cudnn9-base-ubuntu22.04}"},
     ["compose.yaml:3:37 image-not-published"]),
    *((quoted(text), ["compose.yaml:" + place]) for text, place in (
        ('"FROM python:3.12-slim\\nRUN pip install numpy>=1.26"', "5:66 requirement-not-quoted"),
        ('"FROM python:3.12-slim\\n\\\n        RUN echo \\"a b\\" &&\n        pip install\\tnumpy>=1.26\\n"',
         "7:22 requirement-not-quoted"),
        ("'FROM python:3.12-slim\n\n\n        RUN echo ''a'' && pip install numpy>=1.26'",
         "8:39 requirement-not-quoted"),
        ("FROM python:3.12-slim\n\n        RUN pip install numpy>=1.26", "7:25 requirement-not-quoted"),
        (">\n        FROM python:3.12-slim\n\n        RUN echo a &&\n        pip install numpy>=1.26\n",
         "9:21 requirement-not-quoted"),
        (">-\n\n        # a\n\n\n        FROM ubuntu\n\n        RUN a;\\\n\n          pip install b>1\n\n",
         "14:23 requirement-not-quoted")))])
def test_an_inline_dockerfile_is_judged_where_it_stands(files: Files, expected: list[str]) -> None:
    assert places(judged(files, *L4)) == expected


def test_a_variable_that_compose_fills_in_is_none_of_the_builders() -> None:
    """`$TORCH` with one dollar is empty, or of the shell, and no matter what ARG says."""
    found = judged(inline("pip install torch==$TORCH", "2.15.0"), *L4)
    assert causes(found) == []
    assert [(str(note.place), note.matters) for note in found.notes] == [("compose.yaml:11:25", True)]


def test_lines_of_an_inline_dockerfile_may_end_as_on_windows() -> None:
    text = INLINE.format("2.15.0", "pip install torch==$$TORCH").replace("\n", "\r\n")
    assert places(judged({"compose.yaml": text}, *L4)) == ["compose.yaml:11:25 driver-too-old"]


@pytest.mark.parametrize("line", ["FROMM x", "ARG x", "FROM a b"])
def test_what_no_builder_takes_is_said_with_its_place_in_the_compose_file(line: str) -> None:
    text = f"services:\n  a:\n    build: {{context: ., dockerfile_inline: {line}}}\n"
    with pytest.raises(ManifestError, match=r"compose.yaml:3:[45]\d: "):
        judged({"compose.yaml": text})


def test_fix_writes_into_an_inline_dockerfile() -> None:
    files = inline("pip install torch==$$TORCH numpy>=1.26")

    def judge_again(texts: Mapping[str, str]) -> Verdicts:
        return judged(texts, *L4)

    changes = rewrites.proven(judge_again(files).findings, files, judge_again)
    assert rewrites.applied(files, changes) == inline("pip install torch==$$TORCH 'numpy>=1.26'")


@pytest.mark.parametrize(("own", "middle", "base", "expected"), [
    (GPU, "{}", f"image: {CPU_IMAGE}", ["more/base.yaml:5:12 cpu-only-build"]),
    ("image: python:3.12", GPU, f"image: {CPU_IMAGE}", []),  # one's own image counts
    (GPU, "build: {args: [V=2.15.0]}", "build: app", ["more/app/Dockerfile:3:17 driver-too-old"]),
    ("build: {args: {V: 2.10.0}}", "build: {args: [V=2.15.0]}", f"build: app\n    {GPU}", []),
    ("environment: {NVIDIA_DRIVER_CAPABILITIES: utility}", "environment: [A=1]",
     f"image: a\n    {GPU}\n    environment: {{NVIDIA_DRIVER_CAPABILITIES: all}}",
     ["compose.yaml:4:47 docker-driver-capabilities"]),
    ("environment: {NVIDIA_DRIVER_CAPABILITIES: all}", "environment: [NVIDIA_DRIVER_CAPABILITIES=utility]",
     f"image: a\n    {GPU}", []),
    ("command: sleep 1", GPU, "image: python:3.12\n    command: pip install tensorflow==2.20.0", []),
    ("entrypoint: []", GPU, "image: python:3.12\n    command: pip install tensorflow==2.20.0",
     ["more/base.yaml:7:26 pip-nvidia-libs-not-installed"]),
    ("gpus: !reset null", "{}", f"image: {CPU_IMAGE}\n    {GPU}", []),
    (f"build: !override {{dockerfile_inline: FROM {CPU_IMAGE}}}\n    {GPU}", "{}", "build: app",
     ["compose.yaml:4:47 cpu-only-build"])])
def test_a_service_is_judged_with_what_it_extends(
        own: str, middle: str, base: str, expected: list[str]) -> None:
    text = BASE.format(middle, base).replace("    {}\n", "")
    files = {"compose.yaml": EXTENDING.format(own), "more/base.yaml": text,
             "more/app/Dockerfile": "FROM python:3.12-slim\nARG V=2.10.0\nRUN pip install torch==$V\n"}
    assert places(judged(files, *L4)) == expected


INCLUDED = "services: {a: {image: 'python:3.12', gpus: all}, b: {build: {dockerfile: D}, gpus: all}}\n"


@pytest.mark.parametrize(("include", "expected"), [
    ("[more/c.yaml]", ["more/D:1:6"]), ("[{path: more/c.yaml, project_directory: .}]", ["D:1:6"]),
    ("[{path: [more/c.yaml, d.yaml]}]", ["d.yaml:1:24", "more/D:1:6"])])
def test_services_of_included_files_are_judged(include: str, expected: list[str]) -> None:
    files = {"compose.yaml": f"include: {include}\n", "more/c.yaml": INCLUDED,
             "d.yaml": f"services: {{a: {{image: '{CPU_IMAGE}'}}}}\n",
             "D": f"FROM {CPU_IMAGE}\n", "more/D": f"FROM {CPU_IMAGE}\n"}
    assert [str(one.place) for one in judged(files).findings] == expected


def test_a_service_extends_and_overrides_one_that_is_included() -> None:
    text = f"include: [c.yaml]\nservices: {{a: {{image: '{CPU_IMAGE}'}}, z: {{extends: a}}}}\n"
    assert places(judged({"compose.yaml": text, "c.yaml": INCLUDED.replace("D", "X")})) == [
        "compose.yaml:2:24 cpu-only-build"]


@pytest.mark.parametrize(("files", "said"), [
    ({"c.yaml": "services: {a: {extends: b}, b: {extends: {service: a}}}"},
     r"c\.yaml:1:\d+: extends leads in a circle"),
    ({"c.yaml": "services: {a: {extends: {file: d.yaml, service: b}}}",
      "d.yaml": "services: {b: {extends: {file: c.yaml, service: a}}}"},
     r"[cd]\.yaml:1:\d+: extends leads in a circle"),
    ({"c.yaml": "include: [d.yaml]", "d.yaml": "include: [c.yaml]"},
     r"d\.yaml:1:11: include leads in a circle"),
    ({"c.yaml": "services: {a: {extends: b}}"}, r"c\.yaml:1:25: there is no service b in c\.yaml"),
    ({"c.yaml": 'services: {a: {extends: "b\\nc"}}'}, r"there is no service b\\nc in c\.yaml"),
    ({"c.yaml": "services: {a: {extends: {file: d.yaml}}}"}, r"c\.yaml:1:25: extends of the service a"),
    ({"c.yaml": "include: d.yaml"}, r"c\.yaml:1:10: include is no list"),
    ({"c.yaml": "include: [d.yaml]", "d.yaml": "services: [a"}, r"d\.yaml:1:\d+: is no YAML"),
    ({"c.yaml": "services:\n" + "".join(f" s{n}: {{extends: s{n + 1}}}\n" for n in range(40)) + " s40: {}"},
     r"c\.yaml:\d+:\d+: takes over from more than 20 others"),
    ({"c.yaml": "include: [" + ", ".join(f"{n}.yaml" for n in range(101)) + "]",
      **{f"{n}.yaml": "services: {}" for n in range(101)}},
     r"c\.yaml:1:\d+: more than 100 files are taken over"),
    ({"c.yaml": "services:\n b: {image: x, labels: [" + "a, " * 300 + "a]}\n"
      + "".join(f" s{n}: {{extends: b}}\n" for n in range(100))},
     r"c\.yaml:\d+:\d+: more than 20000 values")])
def test_what_compose_refuses_or_no_such_project_has_is_one_line(files: Files, said: str) -> None:
    with pytest.raises(ManifestError, match=said) as caught:
        judged(files)
    assert "\n" not in str(caught.value)


def test_a_variable_without_a_value_is_the_shells_and_hides_no_gpu() -> None:
    """`CUDA_VISIBLE_DEVICES:` was taken for one that is set to nothing, which keeps every GPU away."""
    text = (f"services:\n  a:\n    image: {CPU_IMAGE}\n    gpus: all\n    environment:\n"
            "      CUDA_VISIBLE_DEVICES: ")
    assert causes(judged({"compose.yaml": f"{text}\n"})) == ["cpu-only-build"]
    hidden = f'{text}""\n'
    assert causes(judged({"compose.yaml": hidden.replace("    gpus: all\n", "")})) == []
    assert causes(judged({"compose.yaml": hidden})) == ["cpu-only-build", "cuda-visible-devices"]


def test_a_variable_that_hides_what_the_same_service_is_given_is_found() -> None:
    """`gpus: all` beside `CUDA_VISIBLE_DEVICES: "-1"` was a note, and nothing found."""
    text = ("services:\n  a:\n    image: tensorflow/tensorflow:2.17.0-gpu\n    {}environment:\n"
            "      CUDA_VISIBLE_DEVICES: '-1'\n")
    assert causes(judged({"compose.yaml": text.format("gpus: all\n    ")})) == ["cuda-visible-devices"]
    assert causes(judged({"compose.yaml": text.format("")})) == []


def described(folder: Path, text: str) -> list[Environment]:
    """Return what the command reads of a compose file in a folder, with its own door to other files."""
    name = str(folder / "compose.yaml")
    return linting._described({name: text}, None)[name]


def test_nothing_is_read_outside_of_the_folder_and_nothing_but_files(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "out.yaml").write_text(INCLUDED)
    (folder / "link.yaml").symlink_to(tmp_path / "out.yaml")
    (folder / "folder.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    (folder / "in.yaml").write_text("services: {own: {image: x}}\n")
    for name in ("../out.yaml", "link.yaml", "folder.yaml", "pipe.yaml", str(tmp_path / "out.yaml")):
        assert [one.name for one in described(folder, f"include: ['{name}']\n")] == ["include"]
    assert [one.name for one in described(folder, "include: [in.yaml]\n")] == ["service own"]


@pytest.mark.parametrize("path", ["https://x.example/a.git", "git@github.com:a/b.git", "oci://a/b",
                                  "github.com/a/b.git#main:c"])
def test_what_is_fetched_is_told_from_a_path(path: str) -> None:
    assert composed.is_remote(path)
    assert not any(map(composed.is_remote, ("../a.git", "./x/y.yaml", "a.b/c.yaml", "/git@x/y")))
