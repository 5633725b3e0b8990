"""What cannot be what it is taken for: references that no engine takes, TOML that ends too early, bounds."""

from __future__ import annotations

import importlib

import pytest

from gpudoctor.manifests import kinds, references, requirements
from gpudoctor.manifests.spans import ManifestError, Source
from tests.unit.test_manifest_troubles import causes, docker, judged

DIGEST = f"sha256:{'0a' * 32}"
POD = "kind: Pod\nspec:\n  containers:\n  - image: {}\n"
COMPOSE = "services:\n  a:\n    image: {}\n"
PROJECT = """[project]
name = "a"
requires-python = "{}"
dependencies = ["tensorflow[and-cuda]==2.20.0"]
"""


@pytest.mark.parametrize(("line", "said"), [
    ("@@@ bad", "is no requirement"), ("= 2", "is no requirement"), ("-r", "write -r FILE"),
    ("--pre --frob", "2:7: pip refuses --frob"), ("--no-index --find-links", "write --find-links ADDRESS"),
    ("--requirement=", "write --requirement FILE"), ("--index-url", "write --index-url ADDRESS"),
    ("-c ", "write -c FILE"), ("--frobnicate x", "pip refuses --frobnicate in a list"),
    ("-x", "pip refuses -x"),
    ("--index-ulr x", "did you mean --index-url"), ("--no torch", "it may be --no-index or --no-binary")])
def test_what_pip_refuses_in_a_list_is_refused_with_what_to_write(line: str, said: str) -> None:
    """Each of them ended with 0, and nothing was found."""
    with pytest.raises(ManifestError, match=said) as caught:
        judged({"requirements.txt": f"six\n{line}\n"})
    assert str(caught.value).startswith("requirements.txt:2:")


@pytest.mark.parametrize("line", ["--pre torch==2.8.0", "six --pre torch==2.8.0"])
def test_what_pip_passes_over_behind_an_option_is_said(line: str) -> None:
    """pip 23.2 reads no requirement behind an option: nothing of it is installed."""
    found = judged({"requirements.txt": f"{line}\n"}, gpu=True)
    assert [one.said for one in found.notes] == [
        "pip passes over torch==2.8.0 behind an option: write it in a line of its own"]


@pytest.mark.parametrize(("behind", "said"), [
    ("--frob x", r"2:14: pip refuses --frob in a list"), ("--hash=sha256:0a --frob", "pip refuses --frob"),
    ("--hash sha256:0a -x", "pip refuses -x"), ("--hahs=sha256:0a", "did you mean --hash"),
    ("--pre --frob", "pip refuses --frob"), ("\\\n  --frob=x", r"3:3: pip refuses --frob")])
def test_what_pip_refuses_behind_a_requirement_is_refused_as_on_a_line_of_its_own(
        behind: str, said: str) -> None:
    """Regression: torch==2.8.0 --frob x was judged as if nothing stood behind it."""
    with pytest.raises(ManifestError, match=said):
        judged({"requirements.txt": f"six\ntorch==2.8.0 {behind}\n"})


@pytest.mark.parametrize("behind", [
    "--hash=sha256:0a --hash sha256:0b", "--ha=sha256:0a", "-C a=b", "-Ca=b",
    "--config-settings '--frob=a b'", '--global-option="--frob x" --config-settings "a=--x --y"',
    "--global-option --frob", "--pre -C --frob", "\\\n    --hash=sha256:0a  # --frob"])
def test_what_pip_takes_behind_a_requirement_is_taken(behind: str) -> None:
    read = requirements.read(Source("r.txt", f"torch==2.8.0 {behind}\n"), lambda _: None)
    assert [one.text for one in read.asked] == ["torch==2.8.0"]


def test_an_option_is_what_pip_makes_of_it() -> None:
    """pip takes a beginning that is no other's; what it has today is known by heart."""
    read = requirements.read(Source("r.txt", "--extra-index https://a/b\ntorch\n"), lambda _: None)
    assert [one.extra_indexes for one in read.asked] == [("https://a/b",)]
    own = importlib.import_module("pip._internal.req.req_file").build_parser().option_list
    assert {name for one in own for name in (*one._short_opts, *one._long_opts)} <= {*requirements.OPTIONS}


def test_what_a_variable_stands_for_is_said_to_be_unread() -> None:
    """Regression: nothing was said of a line that a variable is all of, which may be a framework."""
    read = requirements.read(Source("r.txt", "${PKG}\ntorch==${V}\nsix==${W}\n"), lambda _: None)
    assert [(one.why, one.of_framework) for one in read.unread] == [
        (f"{text} was not judged: pip puts the value of a variable in place of {name}", matters)
        for text, name, matters in (("${PKG}", "${PKG}", True), ("torch==${V}", "${V}", True),
                                    ("six==${W}", "${W}", False))]


@pytest.mark.parametrize(("name", "text", "place"), [
    ("requirements.txt", "six\ntorch=={}\n", "requirements.txt:2:8"),
    ("Dockerfile", "FROM ubuntu:22.04\nRUN apt-get install -y cuda-toolkit-{}-4\n", "Dockerfile:2:37"),
    ("pyproject.toml", "[project]\nname = 'a'\nrequires-python = '>=3.{}'\n", "pyproject.toml:3:24"),
    ("Dockerfile", "FROM ubuntu:22.04\nRUN python3.{} -m pip install torch\n", "Dockerfile:2:13")])
def test_a_number_that_no_version_has_is_refused(name: str, text: str, place: str) -> None:
    """Each of them ended `lint` on its own account."""
    with pytest.raises(ManifestError, match="a thousand digits") as caught:
        judged({name: text.format("9" * 5000)})
    assert str(caught.value).startswith(f"{place}: ")


@pytest.mark.parametrize(("reference", "words"), [
    ("nvidia/cuda:12.4.1@sha256:zz", "64 digits"), ("http://x/y:1", "without http://"),
    ("a:::b", "behind one colon"), ("a:", "a tag is"), ("UBUNTU:22.04", "lower case: ubuntu"),
    ("nvidia/Cuda", "lower case: cuda"), ("a//b", "lower-case letters"), ("-a", "lower-case letters"),
    ("a..b/c", "no registry"), ("host:port/a:1", "no registry"), ("", "write NAME:TAG"),
    (f"{'a/' * 200}b", "up to 255"), (f"a:{'b' * 129}", "up to 128"), ("a b", "lower-case letters")])
def test_what_no_engine_takes_for_an_image_is_refused_with_what_to_write(reference: str, words: str) -> None:
    assert words in (references.fault(reference) or "")


@pytest.mark.parametrize("reference", [
    "ubuntu", "ubuntu:22.04", f"ubuntu@{DIGEST}", f"ubuntu:22.04@{DIGEST}", "nvcr.io/nvidia/jax:25.01-py3",
    "localhost:5000/a/b:1", "localhost/a", "[::1]:5000/a:1", "a__b/c---d.e_f", "Host/a:1",
    "ghcr.io/x/y:_A.b-C", "scratch"])
def test_what_engines_take_is_no_fault(reference: str) -> None:
    assert references.fault(reference) is None


@pytest.mark.parametrize(("name", "text", "place"), [
    ("Dockerfile", "FROM ubuntu:22.04 AS base\nFROM a:::b\n", "Dockerfile:2:6:"),
    ("Dockerfile", "FROM nvidia/cuda:{{ .Values.tag }}\n", "Dockerfile:1:18: the name of the image is"),
    ("Dockerfile", "FROM x:{{.tag}}\n", "Dockerfile:1:8: the name of the image is a template"),
    ("image.tpl", "# a\nFROM x:{% tag %}\n", "image.tpl:2:8: the name of the image is a template"),
    ("Dockerfile", "FROM UPPER CASE\n", "Dockerfile:1:12: FROM takes one image"),
    ("Dockerfile", "ARG T=::\nFROM ubuntu$T\n", "Dockerfile:2:6:"),
    ("pod.yaml", POD.format('"tensorflow/tensorflow:::bad"'), "pod.yaml:4:13:"),
    ("compose.yaml", COMPOSE.format("http://x/y"), "compose.yaml:3:12:"),
    ("compose.yaml", COMPOSE.format('"${A:-X}"'), "compose.yaml:3:13:"),
    ("pyproject.toml", "a = [\n", "pyproject.toml:1:6: is no TOML: it ends too early"),
    ("pyproject.toml", '[a]\nx = """b\nc', "pyproject.toml:3:2: is no TOML: it ends too early"),
    ("pyproject.toml", "[a]\nb = ]\n", "pyproject.toml:2:5: is no TOML 1.0"),
    ("pyproject.toml", '[project]\ndependencies = "torch"\n', "pyproject.toml:2:1: project.dependencies is "),
    ("pyproject.toml", '[project.optional-dependencies]\na = "torch"\n', "pyproject.toml:2:1: project.opt"),
    ("pyproject.toml", '[dependency-groups]\ndev = {x = 1}\n', "pyproject.toml:2:1: dependency-groups.dev"),
    ("compose.yaml", "services:\n  a: 3\n", "compose.yaml:2:6: the service a is no mapping"),
    ("Dockerfile", "FROM ubuntu:22.04\nCOPY a\n", "Dockerfile:2:1: COPY without a target"),
    ("Dockerfile", "FROM ubuntu:22.04\nADD [\"a\"]\n", "Dockerfile:2:1: ADD without a target"),
    ("compose.yaml", "services:\n  a: &a\n    image: x\n    b: *a\n", "compose.yaml:2:6: holds itself"),
    ("pod.yaml", "kind: Pod\nspec: &b [a, [*b]]\n", "pod.yaml:2:7: holds itself"),
    ("requirements.txt", "six\n-r requirements.txt\n", "requirements.txt:2:4: names the file that it stands"),
    ("./requirements.txt", "six\n-r ./requirements.txt\n", "./requirements.txt:2:4: names the file"),
    ("requirements.txt", "-c requirements.txt\n", "requirements.txt:1:4: names the file that it stands"),
    ("compose.yaml", "services: [a]\n", "compose.yaml:1:11: services is no mapping"),
    ("compose.yaml", "services:\n  a:\n    image: [x]\n", "compose.yaml:3:12: image of the service a is"),
    ("compose.yaml", "services:\n  a:\n    deploy: 7\n", "compose.yaml:3:13: deploy of the service a is no"),
    ("pyproject.toml", "[project]\ndependencies = [5]\n", "pyproject.toml:2:1: project.dependencies is no"),
    ("pyproject.toml", '[project]\nname = "a"\n[tool.uv]\nindex = 5\n', "pyproject.toml:4:1: tool.uv.index "),
    ("pyproject.toml", "[tool]\nuv = 1\n", "pyproject.toml:2:1: tool.uv is no table"),
    ("pyproject.toml", "[tool.poetry.dependencies]\ntorch = 2\n", "pyproject.toml:2:1: tool.poetry.dependen"),
    ("pyproject.toml", '[project]\ndependencies = ["@@"]\n', "pyproject.toml:2:18: '@@' is no requirement"),
    ("pyproject.toml", "[[tool.uv.index]]\nurl = 5\n", "pyproject.toml:2:1: tool.uv.index.url is no text"),
    ("pixi.toml", "dependencies = 5\n[workspace]\n", "pixi.toml:1:1: dependencies is no table"),
    ("pixi.toml", '[workspace]\nplatforms = "linux-64"\n', "pixi.toml:2:1: workspace.platforms is no list"),
    ("pyproject.toml", "[tool.pixi.feature.a]\ndependencies = 5\n", "pyproject.toml:2:1: tool.pixi.feature"),
    ("Pipfile", "[packages]\ntorch = 2\n", "Pipfile:2:1: packages.torch is no bound"),
    ("pyproject.toml", PROJECT.format(">banana"), "pyproject.toml:3:1: '>banana' is no bound on a version o"),
    ("pyproject.toml", PROJECT.format(">=3.12,<3.10"), "pyproject.toml:3:1: no Python is within '>=3.12,<3."),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^x"\n', "pyproject.toml:2:1: '^x' is no bound"),
    ("compose.yaml", COMPOSE.format(5), "compose.yaml:3:12: image of the service a is no text: write NAME:T"),
    ("compose.yaml", COMPOSE.format("x\n    gpus: [{count: many}]"), "compose.yaml:4:20: gpus.count of the"),
    ("pod.yaml", POD.format("x\n    resources: {limits: {nvidia.com/gpu: abc}}"), "pod.yaml:5:42: nvidia.co"),
    ("pod.yaml", POD.format("x\n    env: [{name: A, value: 0}]"), "pod.yaml:5:28: env.value of a container"),
    ("compose.yaml", COMPOSE.format("x\n    environment: 5"), "compose.yaml:4:18: environment of the servic"),
    ("compose.yaml", COMPOSE.format("x\n    gpus: 5"), "compose.yaml:4:11: gpus of the service a is no list"),
    ("compose.yaml", COMPOSE.format("x\n    command: 5"), "compose.yaml:4:14: command of the service a is"),
    ("compose.yaml", COMPOSE.format("x\n    build: 5"), "compose.yaml:4:12: build.context of the"),
    ("compose.yaml", COMPOSE.format("x\n    deploy: {resources: 5}"), "compose.yaml:4:25: deploy.resources"),
    ("pod.yaml", "kind: Pod\nspec:\n  containers: 5\n", "pod.yaml:3:15: spec.containers is no list"),
    ("pod.yaml", POD.format("x\n    env: 5"), "pod.yaml:5:10: env of a container is no list"),
    ("pod.yaml", POD.format("x\n    resources: {limits: 5}"), "pod.yaml:5:25: resources.limits of a co"),
    ("pod.yaml", POD.format("x\n    command: sleep 9"), "pod.yaml:5:14: command of a container is no list"),
    ("environment.yml", "channels: 5\ndependencies: [six]\n", "environment.yml:1:11: channels is no list"),
    ("environment.yml", "dependencies: [5]\n", "environment.yml:1:16: an entry of dependencies is no text"),
    ("environment.yml", "dependencies:\n- pip: [5]\n", "environment.yml:2:9: an entry of dependencies.pip"),
    ("environment.yml", "dependencies: {a: 1}\n", "environment.yml:1:15: dependencies is no list"),
    ("environment.yml", "dependencies:\n- [numpy]\n", "environment.yml:2:3: an entry of depend"),
    ("environment.yml", "dependencies:\n- pip: torch\n", "environment.yml:2:8: what pip installs is no list"),
    ("pod.yaml", "kind: Pod\nspec: 3\n", "pod.yaml:2:7: spec is no mapping"),
    ("uv.lock", 'version = 1\npackage = "torch"\n', "uv.lock:1:1: its packages are no list of tables"),
    ("uv.lock", 'package = ["torch"]\n', "uv.lock:1:1: its packages are no list of tables"),
    ("uv.lock", '[[package]]\nname = "a"\n\n[[package]]\nname = "torch"\nversion = 2\n', "uv.lock:4:1: name"),
    ("uv.lock", "[[package]]\n", "uv.lock:1:1: name"),
    ("uv.lock", "package = 1\n", "uv.lock:1:1: its packages"),
    ("poetry.lock", '[[package]]\nversion = "2.6.0"\n', "poetry.lock:1:1: name and version of a package"),
    ("compose.yaml", "services:\n  a: [x]\n", "compose.yaml:2:6: the service a is no mapping")])
def test_a_file_that_cannot_be_used_is_refused_at_its_place(name: str, text: str, place: str) -> None:
    with pytest.raises(ManifestError) as caught:
        [*kinds.environments(Source(name, text), lambda _: None)]
    assert str(caught.value).startswith(place)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("option", "other"), [("-r", "-r"), ("-c", "-c"), ("-r", "-c")])
def test_lists_that_name_one_another_in_a_circle_are_refused(option: str, other: str) -> None:
    """Regression: they were read in silence, and pip ends with "recursively references itself"."""
    files = {"requirements.txt": f"{option} a/b.txt\n", "a/b.txt": f"six\n{other} ../requirements.txt\n"}
    with pytest.raises(ManifestError, match=r"\Aa/b\.txt:2:4: leads in a circle: requirements\.txt is being"):
        judged(files)
    twice = {"requirements.txt": "-r a.txt\n-r b.txt\n-c b.txt\n", "a.txt": "-r b.txt\n", "b.txt": "six\n"}
    assert causes(judged(twice)) == []


@pytest.mark.parametrize("files", [
    docker("FROM ubuntu:22.04 AS Base", "FROM Base"), docker("ARG T", "FROM ubuntu:$T"),
    {"pod.yaml": POD.format('"{{ .Values.image }}:{{ .Values.tag }}"')}, {"pod.yaml": POD.format("${IMAGE}")},
    {"compose.yaml": COMPOSE.format('"${IMAGE}:${TAG:-1}"')},
    {"compose.yaml": COMPOSE.format("x\n    gpus: [{count: all}, {count: 2}, {count: '${N}'}]")},
    {"pod.yaml": POD.format("x\n    resources: {limits: {nvidia.com/gpu: '{{ .Values.gpus }}'}}")},
    {"pod.yaml": POD.format("x\n    env: [{name: A, value: '0'}, {name: B, value: 12:30}, {name: C}]")}])
def test_a_stage_and_what_only_a_template_knows_are_not_refused(files: dict[str, str]) -> None:
    assert causes(judged(files)) == []


@pytest.mark.parametrize(("bounds", "python"), [
    (">=3.14", "3.1"), ("==3.14.*", "3.14"), (">=3.6,<3.9", "3.8"), (">=3.77", "3.77")])
def test_bounds_that_leave_no_python_with_a_wheel_are_found(bounds: str, python: str) -> None:
    found = judged({"pyproject.toml": PROJECT.format(bounds)})
    assert causes(found) == ["python-version-unsupported"]
    assert f"for Python {python}" in found.findings[0].finding.message
    assert str(found.findings[0].place) == "pyproject.toml:4:18"


@pytest.mark.parametrize("bounds", [">=3.8", ">=3.12", ">=3.9,<3.15", "!=3.14.*", "", ">=3.10,"])
def test_bounds_that_leave_one_are_left_alone(bounds: str) -> None:
    assert causes(judged({"pyproject.toml": PROJECT.format(bounds)})) == []


def test_bounds_of_poetry_are_read_as_its_own() -> None:
    text = '[tool.poetry.dependencies]\npython = "^3.14"\ntensorflow = "2.20.0"\n'
    assert causes(judged({"pyproject.toml": text})) == ["python-version-unsupported"]
    assert causes(judged({"pyproject.toml": text.replace("^3.14", "^3.9")})) == []


@pytest.mark.parametrize("bounds", [
    ">=3.9 <3.13", ">= 3.9, < 3.13", "=3.12", "3.12", "^3.9 || ^3.12", "*", "~3.12"])
def test_bounds_as_poetry_takes_them_are_not_refused(bounds: str) -> None:
    text = f'[tool.poetry.dependencies]\npython = "{bounds}"\ntensorflow = ">=2.18 <=2.20.0"\n'
    assert causes(judged({"pyproject.toml": text})) == []
