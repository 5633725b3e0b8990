"""What a text tells of packages: a name that has ended, files that two own, a file that hides a module."""

from __future__ import annotations

import pytest

from gpudoctor import texts
from gpudoctor.explanation import collisions, ended, own_folder, shadowed
from gpudoctor.explanation.answers import Answered
from tests.explain.shipped import database, findings
from tests.explain.test_relations import related


def _said(found: list[Answered]) -> list[str]:
    return [one.text for one in found]


@pytest.mark.parametrize(("line", "kind"), [
    ("pip install tensorflow-gpu", ended.ANY), ("tensorflow-gpu>=2.4", ended.ANY),
    ('tensorflow-gpu = "*"', ended.ANY), ('tensorflow-gpu = "^2.4"', ended.ANY),
    ("uv add tf-nightly-gpu", ended.ANY), ("tensorflow_gpu-2.12.0.tar.gz", ended.NAMED),
    ("where is tensorflow-gpu 2.16?", ended.NAMED), ("tensorflow-gpu==2.13", ended.NAMED),
])
def test_a_package_that_has_ended_is_asked_for(line: str, kind: str) -> None:
    """Whatever admits its last release gets the one that raises an error."""
    assert [text.rpartition(" in ")[2] for text in _said(list(ended.asked_for([line], database().tables)))] \
        == [kind]


@pytest.mark.parametrize("line", [
    "pip install tensorflow-gpu==2.4.0", "tensorflow-gpu<2.11", "conda install tensorflow-gpu",
    "framework: tensorflow-gpu 2.12", "/opt/tensorflow-gpu/run.sh", "tensorflow-gpus are fast",
])
def test_a_release_that_exists_is_none_of_these(line: str) -> None:
    """So are conda's package of the name, and a folder that is called so."""
    assert not list(ended.asked_for([line], database().tables))


@pytest.mark.parametrize(("text", "said"), [
    ("nvidia-nccl-cu12 is listed\nI ran pip uninstall nvidia-nccl-cu13", collisions.REMOVED),
    ("poetry removed nvidia-cudnn-cu11 and the files of cu12 are gone", collisions.REMOVED),
    ("opencv-python was removed, opencv-contrib-python stays", collisions.REMOVED),
    ("nvidia_nccl_cu11 and nvidia_nccl_cu12 both list libnccl.so.2", collisions.SHARED),
    ("tensorflow 2.4 came next to tensorflow-gpu 2.3", collisions.BESIDE),
])
def test_two_packages_with_the_same_files_are_told_of(text: str, said: str) -> None:
    """What became of one of them is in the line that names it."""
    found = _said(list(collisions.told(text.split("\n"), database().tables)))
    assert [said.partition(" {folder}")[0] in line for line in found] == [True]


@pytest.mark.parametrize("text", [
    "Uninstalling nvidia-cudnn-cu12-9.1.0.70", "nvidia-cudnn-cu12 9.1 and nvidia-nccl-cu12 2.20 were removed",
    "I tried tensorflow 2.4 and tensorflow-gpu 2.4 next to each other", "opencv-python was removed",
])
def test_one_package_or_two_of_different_folders_collide_with_nothing(text: str) -> None:
    """An upgrade removes the old release of the same package."""
    assert not list(collisions.told(text.split("\n"), database().tables))


@pytest.mark.parametrize("text", [
    "ImportError: cannot import name 'Random' from 'random' (/home/me/project/random.py)",
    "I wrote a file types.py\nAttributeError: module 'types' has no attribute 'GenericAlias'",
    "AttributeError: module 'torch' has no attribute 'cuda'\n  File \"/home/me/torch.py\", line 2",
])
def test_a_file_of_the_users_own_hides_a_module(text: str) -> None:
    """The module lacks what it should have, and a file of its name lies outside the libraries."""
    assert texts.told_causes(text, database())[0] == "module-shadowed-by-local-file"


@pytest.mark.parametrize("text", [
    "cannot import name 'x' from 'random' (/usr/lib/python3.11/random.py)",
    "module 'numpy' has no attribute 'int'\n  File \"/venv/lib/python3.11/site-packages/numpy/random.py\"",
    "module 'helpers' has no attribute 'load' (/home/me/helpers.py)",
])
def test_a_module_of_the_libraries_is_not_hidden(text: str) -> None:
    """Nor is one that nobody else has."""
    assert not list(shadowed.hidden_modules(text.split("\n")))


INSPECT = '  File "/home/me/anaconda3/lib/python3.7/inspect.py", line 35, in <module>'


@pytest.mark.parametrize(("frame", "is_taken"), [
    ('  File "/home/me/project/dis.py", line 10, in <module>', True),
    ('  File "/home/me/anaconda3/lib/python3.7/dis.py", line 10, in <module>', False),
    ('  File "/home/me/project/train.py", line 10, in <module>', False),
])
def test_an_import_of_pythons_own_that_ends_in_a_file_of_the_users(frame: str, is_taken: bool) -> None:
    """The traceback shows both frames: nothing needs to be lacking yet."""
    text = (f"{INSPECT}\n    import dis\n{frame}\n    import torch.nn as nn\n"
            "AttributeError: module 'torch' has no attribute 'compile'")
    assert bool(list(shadowed.taken_imports(text.split("\n")))) is is_taken
    assert (texts.told_causes(text, database())[0] == "module-shadowed-by-local-file") is is_taken


OWN = "/home/me/.local/lib/python3.6/site-packages/tensorflow/python/pywrap_tensorflow.py"


@pytest.mark.parametrize("python", [
    "/home/me/anaconda3/envs/tf_gpu/lib/python3.6/imp.py", "/srv/project/.venv/bin/python3",
    "/opt/miniconda3/lib/python3.6/runpy.py",
])
def test_a_framework_of_the_users_own_folder_is_seen_in_an_environment(python: str) -> None:
    """Python puts that folder before the environment's."""
    found = list(own_folder.own_frameworks([f'  File "{python}", line 243', f'  File "{OWN}", line 58']))
    assert found == [Answered(text=f"tensorflow {own_folder.LOADED}", line=2)]


@pytest.mark.parametrize("lines", [
    [OWN, "/usr/lib/python3.6/imp.py"], ["/home/me/.local/lib/python3.6/site-packages/numpy/core.py"],
    ["/home/me/anaconda3/envs/tf_gpu/lib/python3.6/site-packages/tensorflow/python/x.py"],
])
def test_elsewhere_it_is_where_it_belongs(lines: list[str]) -> None:
    """The system's own Python has no other place for what a user installs."""
    assert not list(own_folder.own_frameworks(lines))


@pytest.mark.parametrize(("stated", "lacks"), [
    ({"processor": "aarch64", "framework": "tensorflow", "framework_version": "2.16.1"}, True),
    ({"processor": "aarch64", "framework": "pytorch", "framework_version": "2.4.0"}, True),
    ({"processor": "aarch64", "framework": "pytorch", "framework_version": "2.12.0"}, False),
    ({"processor": "aarch64", "framework": "pytorch", "framework_version": "2.6.0+cu126"}, False),
    ({"processor": "ppc64le", "framework": "pytorch"}, True),
    ({"processor": "aarch64", "framework": "jax"}, None),
    ({"processor": "aarch64", "framework": "jax", "framework_version": "0.4.18"}, True),
    ({"processor": "x86_64", "framework": "pytorch"}, False),
    ({"processor": "aarch64", "places": ("jetson",)}, None), ({"framework": "pytorch"}, None),
])
def test_what_is_published_for_a_processor_is_in_the_tables(
        stated: dict[str, str], lacks: bool | None) -> None:
    """Jetson boards and Macs have builds of their own, or none."""
    assert related(**stated)["processor_lacks_builds"] is lacks


@pytest.mark.parametrize(("text", "cause"), [
    ("torch.version.cuda is None on our Graviton machine", "wheel-arch-linux-aarch64"),
    ("ERROR: No matching distribution found for torch==1.9.0\nprocessor: POWER9", "wheel-arch-linux-aarch64"),
    ("AssertionError: Torch not compiled with CUDA enabled", "cpu-only-build"),
    ("pip 9.0.1\nNo matching distribution found for tensorflow==2.3.0", "pip-too-old"),
    ("error: metadata-generation-failed\ntensorflow-gpu>=2.6 is listed", "tensorflow-gpu-package-removed"),
    ("ERROR: You appear to be running an X server; please exit X before installing.", "installer-blocked"),
    ("site-packages/nvidia/nccl/lib is empty", "wheel-file-collision"),
])
def test_what_was_understood_decides(text: str, cause: str) -> None:
    """The same message has another cause beside another processor, pip or package."""
    assert texts.told_causes(text, database())[:1] == (cause,)


def test_a_symbol_that_mkl_left_out_is_mended_by_an_older_mkl() -> None:
    """A NumPy was advised; the page is the one that `check` has for these words."""
    text = ("ImportError: /opt/conda/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so: "
            "undefined symbol: iJIT_NotifyEvent\n")
    found = findings(text)
    assert [(one.rule, fix.commands) for one in found for fix in one.fixes] == [
        ("GPD7013", ('conda install "mkl<2024.1"',))]
