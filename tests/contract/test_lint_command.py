"""`gpudoctor lint` as a program: exit codes, places first, the document, the diff, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor import codec, ruledb
from gpudoctor.assume import assumed, lay
from tests.contract.checkout import run_gpudoctor
from tests.harness.pages import ROOT
from tools.build_schemas import render

Run = subprocess.CompletedProcess[str]
HEALTHY, FINDINGS, USAGE, UNDECIDED, INPUT = range(5)
ANY = ("--assume", "driver=595.45.04")  # not this machine, whatever it is
SOUND = "FROM python:3.12-slim\nRUN pip install 'tensorflow[and-cuda]==2.20.0'\n"
BROKEN = "# docker run --gpus all\nFROM python:3.12-slim\nRUN pip install tensorflow==2.20.0\n"


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def lint(folder: Path, *words: str) -> Run:
    named = [str(folder / word) if not word.startswith("-") and (folder / word).exists() else word
             for word in words]
    return run_gpudoctor("lint", *named, environment={"COLUMNS": "100"})


def document(run: Run) -> dict[str, Any]:
    """Return the document, which obeys its schema and names its exit code."""
    said: dict[str, Any] = json.loads(run.stdout)
    jsonschema.validate(said, json.loads(render("lint-1.json")))
    assert (said["exit_code"], run.stderr) == (run.returncode, "")
    return said


def test_0_and_1(tmp_path: Path) -> None:
    """A sound file and one that is not; the place stands first."""
    written(tmp_path, Dockerfile=SOUND, Dockerfile__gpu=BROKEN)
    assert lint(tmp_path, "Dockerfile", *ANY).returncode == HEALTHY
    run = lint(tmp_path, "Dockerfile.gpu", *ANY)
    assert (run.returncode, run.stderr) == (FINDINGS, "")
    place = f"{tmp_path / 'Dockerfile.gpu'}:3:17: "
    assert f"\n{place}ERROR pip-nvidia-libs-not-installed [GPD4010]\n" in run.stdout


def test_1_a_warning_is_a_failure_where_the_caller_says_so(tmp_path: Path) -> None:
    written(tmp_path, Dockerfile="FROM python:3.8-slim\n")
    assert lint(tmp_path, "Dockerfile", *ANY).returncode == HEALTHY
    assert lint(tmp_path, "Dockerfile", *ANY, "--fail-on", "warning").returncode == FINDINGS


@pytest.mark.parametrize(("asked", "host", "cause"), [
    ("torch==2.15.0", ("driver=570.86.15", "cc=12.0"), "driver-too-old"),
    ("torch==2.15.0", ("driver=570.86.15",), "driver-too-old"),
    ("torch==2.6.0", ("cc=12.0", "driver=595.45.04"), "gpu-too-new-for-build"),
    ("torch==2.6.0", ("card=RTX 5090", "driver=595.45.04"), "gpu-too-new-for-build"),
])
def test_an_assumed_driver_or_card_is_judged_for(asked: str, host: tuple[str, ...], cause: str,
                                                 tmp_path: Path) -> None:
    """Nothing was found: no line of the file says that a GPU is to be used, but the caller does."""
    written(tmp_path, requirements__txt=asked + "\n")
    run = lint(tmp_path, "requirements.txt", *(f"--assume={one}" for one in host))
    assert (run.returncode, f"ERROR {cause} " in run.stdout) == (FINDINGS, True)


@pytest.mark.parametrize("asked", [
    "torch==2.6.0+cpu", "--index-url https://download.pytorch.org/whl/cpu\ntorch", "jax==0.4.30"])
def test_a_build_for_the_processor_is_no_fault_beside_an_assumed_card(asked: str, tmp_path: Path) -> None:
    """A repository may hold files for both; that it was not judged for the card is said."""
    written(tmp_path, requirements__txt=asked + "\n")
    run = lint(tmp_path, "requirements.txt", "--assume", "cc=12.0", "--assume", "driver=570.86.15")
    said = " ".join(run.stdout.split())
    assert (run.returncode, "installs a build for the CPU" in said) == (HEALTHY, True)


@pytest.mark.parametrize("host", [(), ("--assume", "driver=none"), ("--assume", "system.wsl=2")])
def test_what_was_judged_without_a_gpu_says_so(host: tuple[str, ...], tmp_path: Path) -> None:
    """"nothing found" alone read as if the machine's driver had been held against it."""
    written(tmp_path, requirements__txt="numpy\ntorch==2.15.0\n")
    run = lint(tmp_path, "requirements.txt", *host)
    said = " ".join(run.stdout.split())
    assert (run.returncode, "requirements.txt:2:1: note torch==2.15.0 was judged without a GPU" in said) == (
        HEALTHY, True)


def test_3_what_cannot_be_judged(tmp_path: Path) -> None:
    """A build whose device code is in no table, on a card that is known, unless that is allowed."""
    asked = "torch==2.7.1 --index-url https://download.pytorch.org/whl/cu118"
    written(tmp_path, Dockerfile=f"FROM python:3.12\nRUN pip install {asked}\n")
    host = ("--assume", "driver=595.45.04", "--assume", "cc=8.0")
    run = lint(tmp_path, "Dockerfile", *host, "--format", "json")
    said = document(run)
    assert (run.returncode, said["verdict"], said["findings"]) == (UNDECIDED, "undecided", [])
    assert [(one["line"], one["matters"]) for one in said["notes"]] == [(2, True)]
    assert "torch==2.7.1" in said["notes"][0]["note"]
    assert lint(tmp_path, "Dockerfile", *host, "--allow-undecided").returncode == HEALTHY


def test_3_what_matters_and_could_not_be_read(tmp_path: Path) -> None:
    """A version that only the build knows, until it is told; a release newer than the rules is no trouble."""
    written(tmp_path, Dockerfile="# --gpus all\nFROM python:3.12\nARG V\nRUN pip install torch==$V\n")
    run = lint(tmp_path, "Dockerfile", *ANY)
    assert (run.returncode, run.stderr) == (UNDECIDED, "")
    assert f"{tmp_path / 'Dockerfile'}:4:17: not judged\n" in run.stdout
    assert run.stdout.endswith(
        "nothing found in 1 file, 1 not judged (--allow-undecided takes that for fine).\n")
    said = document(lint(tmp_path, "Dockerfile", *ANY, "--format", "json"))
    assert (said["verdict"], [one["matters"] for one in said["notes"]]) == ("undecided", [True])
    assert lint(tmp_path, "Dockerfile", *ANY, "--allow-undecided").returncode == HEALTHY
    assert lint(tmp_path, "Dockerfile", *ANY, "--build-arg", "V=2.10.0").returncode == HEALTHY
    newer = lint(tmp_path, "Dockerfile", *ANY, "--build-arg", "V=99.1")
    assert newer.returncode == HEALTHY
    assert "is newer than these rules" in newer.stdout


def test_files_are_found_where_the_build_copies_them_from(tmp_path: Path) -> None:
    """`docker build -f docker/Dockerfile .`: beside the Dockerfile, else here."""
    (tmp_path / "docker").mkdir()
    written(tmp_path / "docker", Dockerfile="# --gpus all\nFROM python:3.12\nRUN pip install -r r.txt\n")
    written(tmp_path, r__txt="torch==2.4.7\n")
    inside = subprocess.run([sys.executable, "-m", "gpudoctor", "lint", "docker/Dockerfile", *ANY], text=True,
                            cwd=tmp_path, capture_output=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert (inside.returncode, "r.txt:1:1: ERROR release-not-published" in inside.stdout) == (FINDINGS, True)
    assert lint(tmp_path, "docker/Dockerfile", *ANY).returncode == UNDECIDED


@pytest.mark.parametrize("words", [(), ("--fix",), ("--gpu",), ("--assume", "cc=8.9")])
def test_the_document_obeys_its_schema(words: tuple[str, ...], tmp_path: Path) -> None:
    written(tmp_path, Dockerfile=BROKEN, requirements__txt="torch==2.4.7\n")
    said = document(lint(tmp_path, "Dockerfile", "requirements.txt", *ANY, *words, "--format", "json"))
    places = [(one["line"], one["column"], one["finding"]["cause"]) for one in said["findings"]]
    assert places == [(3, 17, "pip-nvidia-libs-not-installed"), (1, 1, "release-not-published")]
    assert bool(said["diff"]) is ("--fix" in words)


def test_what_is_put_right(tmp_path: Path) -> None:
    """First as a diff, then in the file; afterwards nothing is found, and nothing is left to change."""
    written(tmp_path, Dockerfile=BROKEN)
    shown = lint(tmp_path, "Dockerfile", *ANY, "--fix")
    assert "+RUN pip install 'tensorflow[and-cuda]==2.20.0'\n" in shown.stdout
    assert (tmp_path / "Dockerfile").read_text() == BROKEN
    assert lint(tmp_path, "Dockerfile", *ANY, "--fix", "--write").returncode == FINDINGS
    once = (tmp_path / "Dockerfile").read_text()
    assert once == BROKEN.replace("tensorflow==2.20.0", "'tensorflow[and-cuda]==2.20.0'")
    again = lint(tmp_path, "Dockerfile", *ANY, "--fix", "--write")
    assert (again.returncode, (tmp_path / "Dockerfile").read_text()) == (HEALTHY, once)
    assert "nothing found" in again.stdout


def test_that_nothing_is_put_right_is_said(tmp_path: Path) -> None:
    """Regression: `--fix` said nothing where it changes nothing."""
    written(tmp_path, Dockerfile=SOUND, Dockerfile__old="FROM python:3.8-slim\n")
    run = lint(tmp_path, "Dockerfile", *ANY, "--fix")
    assert run.stdout.endswith("\n\nThere is nothing to put right: --fix changes nothing.\n")
    run = lint(tmp_path, "Dockerfile.old", *ANY, "--fix")
    assert run.stdout.endswith("\n\nNothing of it can be put right safely: --fix changes nothing.\n")
    assert "--fix" not in lint(tmp_path, "Dockerfile.old", *ANY).stdout


def test_files_are_counted_with_the_lists_in_them(tmp_path: Path) -> None:
    """Regression: it said "1 file" below a finding in each of two, and nothing of what --fix leaves alone."""
    written(tmp_path, Dockerfile=f"{BROKEN}COPY r.txt .\nRUN pip install -r r.txt\n", r__txt="torch==2.4.9\n")
    run = lint(tmp_path, "Dockerfile", *ANY, "--fix", "--gpu")
    assert "2 errors found in 2 files." in run.stdout
    assert "(it changes only files that are named" not in run.stdout  # the Dockerfile is changed
    written(tmp_path, Dockerfile="FROM python:3.12-slim\nCOPY r.txt .\nRUN pip install -r r.txt\n",
            r__txt="tensorflow==2.20.0\n")
    run = lint(tmp_path, "Dockerfile", *ANY, "--fix", "--gpu")
    assert "it changes only files that are named, not" in " ".join(run.stdout.split())


def test_the_diff_is_one_that_patch_takes(tmp_path: Path) -> None:
    written(tmp_path, Dockerfile=BROKEN.rstrip("\n"))
    said = document(lint(tmp_path, "Dockerfile", *ANY, "--fix", "--format", "json"))
    patched = subprocess.run(["patch", str(tmp_path / "Dockerfile")], input=said["diff"], text=True,
                             check=False, capture_output=True)
    assert patched.returncode == 0, patched.stdout
    assert "[and-cuda]" in (tmp_path / "Dockerfile").read_text()


def test_files_that_belong_together_are_read_together(tmp_path: Path) -> None:
    """A list that a Dockerfile installs is judged with it, named or not; what lies outside is left alone."""
    text = "# --gpus all\nFROM python:3.12\nCOPY r.txt .\nRUN pip install -r r.txt -r ../o.txt"
    written(tmp_path, Dockerfile=text, r__txt="tensorflow==2.20.0\n")
    (tmp_path.parent / "o.txt").write_text("torch==2.4.7\n")
    dotted = f"{tmp_path}/./r.txt"
    assert lint(tmp_path, "Dockerfile", dotted, *ANY).stdout.count("ERROR") == 1
    for words in (("Dockerfile",), ("Dockerfile", "r.txt"), ("r.txt", "Dockerfile")):
        run = lint(tmp_path, *words, *ANY)
        assert run.stdout.count("ERROR") == 1
        assert f"{tmp_path / 'r.txt'}:1:1: ERROR pip-nvidia-libs-not-installed" in run.stdout


@pytest.mark.parametrize(("name", "content", "words"), [
    ("Dockerfile", "FROM a\nFORM b\n", (":2:1: ", "'FORM' is no instruction")),
    ("requirements.txt", "six\n= nonsense ==\n", (":2:1: ", "is no requirement")),
    ("pyproject.toml", "[project]\nname = \n", (":2:", "is no TOML")),
    ("pyproject.toml", '[project]\ndependencies = ["six", "a b c"]\n', (":2:", "'a b c' is no requirement")),
    ("pyproject.toml", "[dependency-groups]\ng0 = []\n" + "".join(
        f"g{n + 1} = [{{include-group = 'g{n}'}}]\n" for n in range(2000)), ("more than 100 others",)),
    ("compose.yaml", "services:\n  a: [\n", ("is no YAML",)),
    ("compose.yaml", "a: 1\n", ("which kind of file is it?",)),
    ("pod.yaml", "a: &a [*a, *a]\nkind: Pod\n", ("pod.yaml:1:4", "holds itself")),
    ("pod.yaml", "a: &a [1, 1]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghijklmnop",
     "bcdefghijklmnopq", strict=True)), ("more than",)),
    ("pod.yaml", "[" * 5000, ("deeply",)),
    ("notes.md", "# notes\n", ("which kind of file is it?",)),
    ("make-dockerfile.sh", "cd x\n", ("which kind of file is it?",)),
    ("requirements.txt", "a\n\udc80\n", (":2:1: ", "no UTF-8")),
])
def test_4_a_file_that_cannot_be_read_is_one_line(name: str, content: str, words: tuple[str, ...],
                                                  tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    output = tmp_path / "said.txt"
    run = lint(tmp_path, name, *ANY, "-o", str(output))
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1), run.stderr
    assert not output.exists()
    for word in (name, *words):
        assert word in run.stderr


@pytest.mark.parametrize(("words", "exit_code", "said"), [
    ((), USAGE, "Missing argument"),
    (("-",), INPUT, "lint reads no standard input"),
    (("nowhere/Dockerfile",), INPUT, "no such file"),
    (("Dockerfile", "--write"), USAGE, "--fix"),
    (("Dockerfile", "--build-arg", "V"), USAGE, "NAME=VALUE"),
    (("Dockerfile", "--assume", "driver=abc"), USAGE, "driver=abc"),
    (("Dockerfile", "--rules", "/nowhere"), INPUT, "/nowhere"),
    (("Dockerfile", "-o", "/nowhere/there.txt"), INPUT, "no such folder"),
    (("Dockerfile", "--from", "/nowhere.json"), INPUT, "no such file"),
])
def test_what_cannot_be_done(words: tuple[str, ...], exit_code: int, said: str, tmp_path: Path) -> None:
    written(tmp_path, Dockerfile=SOUND)
    run = lint(tmp_path, *words)
    assert (run.returncode, run.stdout) == (exit_code, ""), run.stderr
    assert said in run.stderr


def test_4_what_can_be_read_is_judged_beside_what_cannot(tmp_path: Path) -> None:
    """A file that was not there, or broken, took the results of the others with it."""
    written(tmp_path, Dockerfile__gpu="# --gpus all\nFROM python:3.12-slim\nRUN pip install -r r.txt\n",
            Dockerfile__x="FROM ubuntu:22.04\nENV\n", r__txt="tensorflow==2.20.0\n")
    run = lint(tmp_path, "nosuch", "Dockerfile.x", "Dockerfile.gpu", "r.txt", *ANY, "--format", "json")
    said = document(run)
    assert run.returncode == INPUT
    assert [one["finding"]["cause"] for one in said["findings"]] == ["pip-nvidia-libs-not-installed"]
    assert said["files"] == [str(tmp_path / name) for name in ("Dockerfile.gpu", "r.txt")]
    told = "the file cannot be read, and was not judged: "
    assert [(Path(one["file"]).name, one["line"], one["note"].removeprefix(told)[:11])
            for one in said["notes"]] == [("nosuch", 1, "no such fil"), ("Dockerfile.x", 2, "ENV without")]
    assert lint(tmp_path, "nosuch", "Dockerfile.gpu", *ANY, "--allow-undecided").returncode == INPUT


def test_4_where_nothing_can_be_read_every_file_is_named(tmp_path: Path) -> None:
    run = lint(tmp_path, "nosuch", "D2", *ANY)
    assert (run.returncode, run.stdout) == (INPUT, "")
    assert "nosuch: no such file; D2: no such file" in run.stderr


def test_a_recorded_machine_is_judged_for(tmp_path: Path) -> None:
    """Its driver and its card, and nothing of what was wrong with it before."""
    database, host = ruledb.load(), assumed([("driver", "535.104.05"), ("cc", "8.9")])
    recorded = lay(database.base, host, database.tables, source="recorded")
    written(tmp_path, Dockerfile="# --gpus all\nFROM python:3.12\nRUN pip install torch==2.15.0\n",
            machine__json=json.dumps(codec.encode_snapshot(recorded)))
    run = lint(tmp_path, "Dockerfile", "--from", str(tmp_path / "machine.json"), "--format", "json")
    said = document(run)
    assert [one["finding"]["cause"] for one in said["findings"]] == ["driver-too-old"]
    assert (said["host"]["driver"], said["host"]["cards"]) == ("535.104.05", "8.9")


def test_lines_end_where_patch_says(tmp_path: Path) -> None:
    """What other programs call the end of a line is a character like others; a carriage return stays."""
    text = "FROM python:3.12\r\nLABEL a='x\u2028y'\r\nRUN pip install a>=1\r\n"
    (tmp_path / "Dockerfile").write_bytes(text.encode())
    said = document(lint(tmp_path, "Dockerfile", *ANY, "--fix", "--write", "--format", "json"))
    assert [(one["line"], one["column"]) for one in said["findings"]] == [(3, 17)]
    assert (tmp_path / "Dockerfile").read_bytes() == text.replace("a>=1", "'a>=1'").encode()
    changed = [line for line in said["diff"].split("\n") if line.startswith(("-RUN", "+RUN"))]
    assert changed == ["-RUN pip install a>=1\r", "+RUN pip install 'a>=1'\r"]


def test_4_a_snapshot_from_the_future(tmp_path: Path) -> None:
    written(tmp_path, Dockerfile=SOUND, machine__json='{"schema": "gpudoctor.snapshot/99"}')
    run = lint(tmp_path, "Dockerfile", "--from", str(tmp_path / "machine.json"))
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (INPUT, "", 1)
    assert "update gpudoctor" in run.stderr


def test_this_machine_whatever_it_is(tmp_path: Path) -> None:
    """Where no GPU works here, for one on which everything does; the page says which."""
    written(tmp_path, Dockerfile=SOUND)
    run = lint(tmp_path, "Dockerfile", "--format", "json", "--allow-undecided")
    assert run.returncode in (HEALTHY, FINDINGS)
    assert document(run)["host"]["kind"].startswith(("this machine", "any with a new driver"))


def test_what_is_hostile_in_a_file_is_spelled_out(tmp_path: Path) -> None:
    image = "FROM nvidia/cuda:12.4.1-\x1b[2J-base-x\n"  # refused, where it is spelled out as well
    written(tmp_path, Dockerfile="FROM ubuntu:22.04\nRUN pip install a\x1b[2J>=1 b\x07>=1\n", Other=image)
    for file, codes in (("Dockerfile", (HEALTHY, FINDINGS)), ("Other", (4,))):
        run = lint(tmp_path, file, *ANY, "--fix")
        assert "\x1b" not in run.stdout + run.stderr
        assert run.returncode in codes


def test_the_two_linters_are_told_apart() -> None:
    """One of files, one of rules; each help names the other."""
    files, rules = run_gpudoctor("lint", "--help").stdout, run_gpudoctor("rules", "lint", "--help").stdout
    assert "gpudoctor rules lint" in files
    assert "rule" in rules
    assert "Dockerfile" not in rules


def test_without_pyyaml_it_says_what_to_install(tmp_path: Path) -> None:
    """Dockerfiles and lists need nothing more."""
    written(tmp_path, compose__yaml="services: {}\n", Dockerfile=SOUND)
    blocked = ("import sys; sys.modules['yaml'] = None; sys.argv[0] = 'gpudoctor'; "
               "from gpudoctor.cli import main; sys.exit(main())")
    from tests.contract.checkout import run_python

    run = run_python(blocked, "lint", str(tmp_path / "compose.yaml"))
    assert (run.returncode, run.stdout) == (INPUT, "")
    assert "pip install pyyaml" in run.stderr  # which works before and after gpudoctor is on an index
    assert run_python(blocked, "lint", str(tmp_path / "Dockerfile"), *ANY).returncode == HEALTHY
