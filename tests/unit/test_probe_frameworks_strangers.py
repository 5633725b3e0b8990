"""The frameworks and python probes against strangers: hostile files in the environment, any JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.facts import CATALOGUE, promised
from gpudoctor.model import Known, Scope, Unknown
from gpudoctor.payloads import build_info, distributions
from gpudoctor.probes import frameworks, python
from gpudoctor.probes.raw import Answer
from tests.harness.patient import Patient
from tests.unit.file_answers import (
    JSON, OUTCOMES, _fits, ask, assert_total, good, interpreter, spoiled, value,
)

DISTRIBUTION: dict[str, Any] = {
    "name": "torch", "version": "2.15.0", "folder": "/v/lib", "path": "/v/lib/torch.dist-info",
    "metadata": None,
    "requires": ["nvidia-nccl-cu13==2.30.7", "cuda-toolkit[cublas]==13.2.2; sys_platform == 'linux'"],
    "requires_python": ">=3.11", "extras": ["and-cuda"], "tags": ["cp311-cp311-manylinux_2_28_x86_64"],
    "installer": "uv", "direct_url": False,
}  # fmt: skip
SAMPLE: dict[str, Any] = {
    "because": "VIRTUAL_ENV names its environment",
    "python": {
        "version": "3.11.7", "prefix": "/v", "base_prefix": "/usr", "real_prefix": None,
        "executable": "/v/bin/python", "extension_suffix": ".cpython-311-x86_64-linux-gnu.so",
        "conda_packages": None, "externally_managed": False,
        "standard_library": "/usr/lib/python3.11", "user_site_enabled": False, "user_site": "/home/me/.local",
        "path": ["/usr/lib/python3.11", "/v/lib"], "markers": {"sys_platform": "linux"},
    },
    "installed": [["/v/lib", {"torch": "2.15.0", "pip": "26.3"}]],
    "distributions": [{**DISTRIBUTION, "name": "cuda-toolkit"}, {**DISTRIBUTION, "name": "nvidia-nccl-cu13"}],
    "frameworks": [{
        "name": "torch", "location": "/v/lib/torch", "folder": "/v/lib",
        "distribution": DISTRIBUTION,
        "others": [{"name": "torch-nightly", "version": "2", "folder": "/v/lib"}],
        "build": {"path": "/v/lib/torch/version.py", "values": {"cuda": "13.2", "hip": None}},
        "code_libraries": [
            {"path": "torch/libx.so", "sha256": "00", "size_bytes": 5, "folder": "/v/lib", "owner": "torch"}],
        "code": [{"path": "/x", "error": None, "code": [{"sass": ["8.0"], "ptx": [], "fat_binaries": 3}]}],
        "loader": {"path": "/l.so", "rpath": ["$ORIGIN"], "runpath": None, "error": None},
        "needed": ["libcudart.so.13"],
        "plugins": [{"name": "jaxlib", "version": "0.1+cuda12", "folder": "/v"}],
    }],
    "files": [{"path": "/f.so", "soname": None, "machine": "x86_64", "size_bytes": 3, "error": None,
               "owners": ["nvidia-nccl-cu13"]}],
    "collisions": [{"file": "/f.so", "owners": ["a", "b"], "matches": "a", "decided_by": "size"}],
    "gone": [{"file": "/g.so", "owners": ["nvidia-nccl-cu12"]}],
    "shadowing": [{"name": "torch", "path": "/home/me/torch.py"}],
}  # fmt: skip


def test_a_build_file_is_never_run(tmp_path: Path) -> None:
    """It is parsed; what it would do if imported does not happen."""
    patient = Patient.create(tmp_path / "venv", python="3.12")
    patient.install("torch", "2.6.0", libraries="none")
    trace = tmp_path / "was-run"
    patient.add_file("torch/version.py", f"open({str(trace)!r}, 'w')\ncuda = '12.1'\n")
    patient.add_file("torch/__init__.py", f"open({str(trace)!r}, 'w')\n")
    found = frameworks.read_frameworks(ask("frameworks", interpreter=str(patient.python)))
    assert not isinstance(found, Unknown)
    assert value(found[0]["framework.cuda"]) == "12.1"
    assert not trace.exists()


HOSTILE = {
    "signs": "cuda = " + "-" * 30000 + "1",
    "brackets": "cuda = " + "(" * 30000,
    "sum": "cuda = " + "1+" * 15000 + "1",
    "negations": "cuda = " + "not " * 7000 + "1",
    "powers": "cuda = 9**9**9**9**9",
    "digits": "cuda = " + "9" * 30000,
    "zero": "cuda = '\0'",
    "infinite": "cuda = 1e999",
    "bytes": "cuda = b'12.1'",
    "endless": "cuda = '" + "x" * 100_000 + "'",
    "set": "build_info = dict({1, 2})",
    "nested": "build_info = {'a': {'b': [1, (2, 3)]}, 3: None}",
}


@pytest.mark.parametrize("version", ["3.6", "3.8", "3.13"])
def test_hostile_build_files_are_answers(tmp_path: Path, version: str) -> None:
    """Old parsers crash on what newer ones refuse; either way the collector answers."""
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from payloads import build_info\n"
        "print(json.dumps([build_info.read(path) for path in sys.argv[2:]]))"
    )
    paths = []
    for name, source in HOSTILE.items():
        paths.append(str(tmp_path / name))
        Path(paths[-1]).write_text(source)
    folder = Path(build_info.__file__).parent
    done = subprocess.run(
        [interpreter(version), "-B", "-c", program, str(folder.parent), *paths],
        check=True,
        capture_output=True,
    )
    answers = json.loads(done.stdout)
    assert [set(answer) for answer in answers] == [
        {"path", next(iter({"values", "error"} & set(a)))} for a in answers
    ]
    values = dict(zip(HOSTILE, (answer.get("values") for answer in answers), strict=True))
    assert values["bytes"] == {"cuda": "b'12.1'"}
    assert values["nested"] == {"a": "{'b': [1, (2, 3)]}", "3": None}
    assert values["infinite"] == {"cuda": None}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a/b.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,7", ("a/b.so", "e3b0c44298fc1c14", 7)),
        ("a/b.so.2,,", ("a/b.so.2", None, None)),
        ("a/b.so,md5=abc,7", ("a/b.so", None, 7)),
        ("a/b.so,sha256=\u00e9,seven", ("a/b.so", None, None)),
        ("a/b.something,sha256=x,7", None),
        ('"a,b.so",sha256=x,7', None),
        (".so", None),
    ],
)
def test_record_lines(line: str, expected: tuple[str, str | None, int | None] | None) -> None:
    """base64 becomes hex; what cannot be read is left out, never guessed."""
    found = distributions.record_libraries(f"x/y.py,,\n{line}\nz.py,,".encode())
    assert [(path, (e["sha256"] or "")[:16] or None, e["size_bytes"]) for path, e in found.items()] == (
        [expected] if expected else []
    )


def assert_frameworks_total(answer: Answer) -> None:
    found = frameworks.read_frameworks(answer)
    frameworks.library_files(answer)
    assert_total(frameworks, "frameworks", answer)
    assert_total(python, "python", answer)
    if isinstance(found, Unknown):
        return
    for facts in found:
        assert set(facts) == set(promised("frameworks", Scope.FRAMEWORK))
        for name, fact in facts.items():
            assert not isinstance(fact, Known) or _fits(CATALOGUE[name].type, fact.value), (name, fact)
            str(fact).encode("utf-8")


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_frameworks_total(Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_frameworks_total(good(data))


@given(data=spoiled({**SAMPLE, "frameworks": [{**SAMPLE["frameworks"][0], "name": "jax"}]}))
def test_any_json_inside_a_good_answer_about_jax_is_read(data: Any) -> None:
    """JAX is read along another path."""
    assert_frameworks_total(good(data))


def test_a_collector_that_failed_leaves_the_frameworks_unknown() -> None:
    """Not an empty list, which would look like a machine without frameworks."""
    found = frameworks.read_frameworks(Answer(outcome="timeout", seconds=5.0))
    assert isinstance(found, Unknown)
    assert isinstance(frameworks.read_frameworks(good({"frameworks": []})), Unknown)
    assert frameworks.read_frameworks(good({"frameworks": [], "installed": []})) == ()
