"""Lines for each shell give it exactly the value that was meant, whatever the value holds.

dash, bash, zsh, fish and systemd are asked themselves; PowerShell's lines are parsed
(test_shells_powershell.py). What Docker makes of a line is held against the rules of its reference.
A real Jupyter and what enters environments of conda read theirs in tests/hosts (test_written_kernelspec.py,
test_written_conda.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import string
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.render import shells

# what ends a quotation, a word, a line or a command somewhere, and what is filled in somewhere
HOSTILE = (
    "'", '"', "`", "\\", "\\'", "''", "$(touch broken)", "`touch broken`", "${HOME}", "$HOME", "%h", "%%",
    "; touch broken", "& touch broken", "| touch broken", "\n", "\ntouch broken\n", "x\n", " leading",
    "trailing ", "!!", "~", "*", "#x", "-n", "--", "\t", "(set -gx A b)", "{a,b}", "'; touch broken; '",
    '"; touch broken; "', "\\n", "\\\n", "@(1)", "\u2018; touch broken #", "\u2019", "\u201a", "\u201b",
    "\u202e", "\u2028", "é", "\U0001f600", "a=b", ":", "/a:/b c:/d", "$$", "$'x'", "</dev/null", "%", "^",
    "{connection_file}", "=x", ":=x", "\\x41", "\\u0041", "$(", "end;",
)
NO_FILES = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffd"),
                max_size=4)
PIECES = st.lists(st.sampled_from(HOSTILE) | TEXTS, min_size=1, max_size=4).map("".join)
SHELLS = ("dash", "bash", "zsh", "fish")
SHELLS_OWN = {"", "PATH", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "HOME", "LOGNAME"}
SHOW = "printf '%s\\0' \"$GPUDOCTOR_A\" \"$GPUDOCTOR_B\""


def need(program: str) -> str:
    """Return where a program is, or skip."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def lines(variables: Mapping[str, str | None], shell: str) -> str:
    """Return the lines; nothing may be refused."""
    written = shells.write(variables, shell, "/usr/bin/python3")
    assert written.refused == ()
    return written.text


def asked(shell: str, text: str, folder: Path) -> list[str]:
    """Return what the shell's variables hold after it read the lines as people have it read them."""
    (folder / "lines").write_bytes(text.encode())
    read = "cat lines | source" if shell == "fish" else 'eval "$(cat lines)"'
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "GPUDOCTOR_B": "x"}
    run = subprocess.run([need(shell), *NO_FILES.get(shell, []), "-c", f"{read}\n{SHOW}"], cwd=folder,
                         env=environment, check=False, capture_output=True, timeout=60)
    assert run.stderr == b"", (run.stderr, text)
    assert [name for name in os.listdir(folder) if not name.startswith(".")] == ["lines"]
    return run.stdout.decode("utf-8", "surrogateescape").split("\0")[:2]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_real_shell_gets_each_hostile_value(shell: str, value: str, tmp_path: Path) -> None:
    """And nothing else happens: no file appears, nothing is complained about."""
    text = lines({"GPUDOCTOR_A": value, "GPUDOCTOR_B": None}, shell)
    assert asked(shell, text, tmp_path) == [value, ""]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_gets_any_value(shell: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the pieces are put together to."""
    @settings(max_examples=40)
    @given(PIECES)
    def check(value: str) -> None:
        folder = tmp_path_factory.mktemp("shell")
        text = lines({"GPUDOCTOR_A": value, "GPUDOCTOR_B": "x"}, "fish" if shell == "fish" else "sh")
        assert asked(shell, text, folder) == [value, "x"]

    check()


@pytest.mark.parametrize("shell", SHELLS)
def test_reading_twice_is_reading_once(shell: str, tmp_path: Path) -> None:
    """Lines name whole values, never what was there before."""
    text = lines({"GPUDOCTOR_A": "/a:/b", "GPUDOCTOR_B": None}, "fish" if shell == "fish" else "sh")
    assert asked(shell, text + text, tmp_path) == ["/a:/b", ""]


@pytest.mark.parametrize("words", [["dash"], ["bash"], ["bash", "--posix"], ["zsh", "-f"]])
@pytest.mark.parametrize("target", ["sh", "conda"])
def test_a_script_that_ends_at_a_mistake_reads_them(words: list[str], target: str, tmp_path: Path) -> None:
    """`set -eu`, a file that is sourced (as conda does it), and what was never set is unset, too."""
    variables: dict[str, str | None] = {f"GPUDOCTOR_{at}": value for at, value in enumerate(HOSTILE)}
    text = lines({**variables, "GPUDOCTOR_GONE": None, "GPUDOCTOR_NEVER": None}, target)
    (tmp_path / "lines").write_bytes(text.encode())
    run = subprocess.run([need(words[0]), *words[1:], "-c", "set -eu\n. ./lines\nexec env -0"], cwd=tmp_path,
                         env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "GPUDOCTOR_GONE": "x"},
                         check=True, capture_output=True, timeout=60)
    found = dict(entry.split("=", 1) for entry in run.stdout.decode().split("\0") if "=" in entry)
    assert {name: value for name, value in found.items() if name.startswith("GPUDOCTOR_")} == variables


def test_unset_is_no_empty_value(tmp_path: Path) -> None:
    """An empty CUDA_VISIBLE_DEVICES hides every card; it has to be gone."""
    for shell in SHELLS:
        text = lines({"GPUDOCTOR_B": None}, "fish" if shell == "fish" else "sh")
        (tmp_path / "lines").write_text(text)
        read = "cat lines | source" if shell == "fish" else ". ./lines"
        environment = {"PATH": os.environ["PATH"], "GPUDOCTOR_B": "", "HOME": str(tmp_path)}
        run = subprocess.run([need(shell), "-c", f"{read}; env"], cwd=tmp_path, env=environment, check=True,
                             capture_output=True, text=True)
        assert "GPUDOCTOR_B" not in run.stdout, shell


# -- conda's two scripts ---------------------------------------------------------------------------

@pytest.mark.parametrize("words", [["dash"], ["bash"], ["bash", "--posix"], ["zsh", "-f"]])
def test_what_condas_environment_changed_is_gone_when_it_is_left(words: list[str], tmp_path: Path) -> None:
    """Each script twice, as conda sources them, in a shell that ends at a mistake: what was before is after.

    A value is brought back whatever it holds; what was empty is empty, and what was not set is not.
    """
    variables: dict[str, str | None] = {f"A{at}": f"new {value}" for at, value in enumerate(HOSTILE)}
    variables |= {"EMPTY": "x", "NEVER": "x", "GONE": None, "NEVER_GONE": None, "EMPTY_GONE": None}
    before = {f"A{at}": value for at, value in enumerate(HOSTILE)}
    before |= {"EMPTY": "", "GONE": "y", "EMPTY_GONE": ""}
    for name in ("conda", "conda-deactivate"):
        (tmp_path / name).write_bytes(lines(variables, name).encode())
    script = """set -eu
. ./conda; . ./conda; env -0 > inside
. ./conda-deactivate; env -0 > outside
. ./conda-deactivate; env -0 > twice
. ./conda; env -0 > again"""
    subprocess.run([need(words[0]), *words[1:], "-c", script], cwd=tmp_path, check=True, timeout=60,
                   env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **before})

    def seen(name: str) -> dict[str, str]:
        entries = (entry.partition("=") for entry in (tmp_path / name).read_text().split("\0"))
        return {key: value for key, _, value in entries if key not in SHELLS_OWN}

    inside = {name: value for name, value in variables.items() if value is not None}
    assert {name: value for name, value in seen("inside").items() if not name.startswith("_GPU")} == inside
    assert seen("again") == seen("inside")
    assert seen("outside") == seen("twice") == before


def test_a_shell_inside_the_environment_can_leave_it_as_well(tmp_path: Path) -> None:
    """It inherits the variables, so it has to inherit what was there before."""
    for name in ("conda", "conda-deactivate"):
        (tmp_path / name).write_text(lines({"A": "new", "B": None}, name))
    run = subprocess.run(["sh", "-c", ". ./conda; sh -c '. ./conda-deactivate; echo $A $B'"], cwd=tmp_path,
                         env={"PATH": os.environ["PATH"], "A": "old", "B": "too"}, check=True, text=True,
                         capture_output=True)
    assert run.stdout == "old too\n"


# -- files -----------------------------------------------------------------------------------------

def dockerfile_value(line: str) -> str:
    """Read an ENV line with one double-quoted word, as the reference has it: backslash, quote, variable."""
    match = re.fullmatch(r'ENV A="(.*)"\n', line, re.DOTALL)
    assert match
    body = match[1]
    assert "\n" not in body
    assert re.fullmatch(r'(?:[^\\"$]|\\[\\"$])*', body), body
    return re.sub(r"\\(.)", r"\1", body)


@given(PIECES)
def test_dockerfile_by_its_rules(value: str) -> None:
    """What no line can hold is refused, all else is one word on one line."""
    written = shells.write({"A": value}, "dockerfile", "python")
    if set(value) & set("\n\u2028\u2029\x85"):
        assert (written.text, len(written.refused)) == ("", 1)
    else:
        assert dockerfile_value(written.text) == value


def test_a_dockerfile_cannot_unset() -> None:
    """It says so instead of setting an empty value, which would hide every card."""
    written = shells.write({"CUDA_VISIBLE_DEVICES": None, "A": "b"}, "dockerfile", "python")
    assert written.text == 'ENV A="b"\n'
    assert "env -u CUDA_VISIBLE_DEVICES" in written.refused[0]


@given(PIECES)
def test_a_kernelspec_gives_the_value_back(value: str) -> None:
    """Jupyter reads JSON and fills in ${NAME}, with Python's own templates."""
    spec = json.loads(lines({"A": value}, "kernelspec"))
    assert string.Template(spec["env"]["A"]).safe_substitute({"HOME": "filled in", "a": "filled in"}) == value


def test_a_kernelspec_unsets_in_front_of_its_python() -> None:
    """A kernel inherits Jupyter's environment; `env -u` takes a variable out of it."""
    spec = json.loads(lines({"A": "b", "CUDA_VISIBLE_DEVICES": None}, "kernelspec"))
    assert spec["argv"][:4] == ["env", "-u", "CUDA_VISIBLE_DEVICES", "/usr/bin/python3"]
    assert "{connection_file}" in spec["argv"]


def test_conda_is_given_what_a_shell_reads() -> None:
    """`conda env config vars set` loses what stands behind a dollar; a script of activation does not."""
    variables = {"A": "it's $HOME", "B": None}
    assert lines(variables, "conda").endswith(lines(variables, "sh"))


# -- systemd ---------------------------------------------------------------------------------------

SYSTEMD = Path("/lib/systemd/systemd")
NOBODY = 65534
UNIT = "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n"


def loaded(drop_in: str, folder: Path) -> dict[str, str]:
    """Return the variables of a unit as systemd itself reads it: it loads the unit, prints it and ends."""
    if not SYSTEMD.exists():
        pytest.skip("systemd is not installed")
    for name in ("home", "run", "units"):
        (folder / name).mkdir(parents=True)
    (folder / "units" / "x.service").write_text(UNIT + drop_in, "utf-8")
    as_user = []
    if os.geteuid() == 0:  # it refuses to be tried by root
        as_user = [need("setpriv"), f"--reuid={NOBODY}", "--clear-groups"]
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, -1)
    environment = {"HOME": f"{folder}/home", "XDG_RUNTIME_DIR": f"{folder}/run", "LANG": "C.UTF-8",
                   "SYSTEMD_UNIT_PATH": f"{folder}/units", "PATH": os.environ["PATH"]}
    run = subprocess.run([*as_user, str(SYSTEMD), "--test", "--user", "--unit=x.service"], env=environment,
                         capture_output=True, check=True, timeout=60, stdin=subprocess.DEVNULL)
    printed = run.stdout.decode().partition("Unit x.service:")[2].partition("\t\tRuntimeDirectoryPreserve")[0]
    found = printed.replace("\n\t\tUnsetEnvironment: ", "\0").split("\n\t\tEnvironment: ")[1:]
    assert "Ignoring" not in run.stderr.decode(), run.stderr
    return dict(one.partition("\0")[0].partition("=")[::2] for one in found)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that another user can reach."""
    with tempfile.TemporaryDirectory(prefix="gpudoctor-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_systemd_gets_each_hostile_value(open_folder: Path) -> None:
    """All of them in one unit, which stays one unit."""
    values = {f"A{number}": value for number, value in enumerate(HOSTILE)}
    written = lines({**values, "B": None}, "systemd")
    assert loaded(written, open_folder / "once") == values
    assert loaded(written + written, open_folder / "twice") == values


def test_systemd_gets_any_value() -> None:
    """Whatever the pieces are put together to."""
    @settings(max_examples=5)
    @given(st.lists(PIECES, min_size=10, max_size=10))
    def check(drawn: list[str]) -> None:
        values = {f"A{number}": value for number, value in enumerate(drawn)}
        with tempfile.TemporaryDirectory(prefix="gpudoctor-") as name:
            os.chmod(name, 0o755)
            assert loaded(lines({**values, "B": None}, "systemd"), Path(name) / "unit") == values

    check()


# -- what nobody can be given ----------------------------------------------------------------------

@pytest.mark.parametrize("shell", shells.SHELLS)
@pytest.mark.parametrize(("name", "value", "why"), [
    ("A", "\x1b]0;title\x07", "control characters"), ("A", "\r", "control characters"),
    ("A", "\x9b31m", "control characters"), ("A", "\ufffd", "no text"), ("A", "a\udcff", "no text"),
    ("A;B", "x", "no name"), ("A\n", "x", "no name"), ("", "x", "no name"), ("1A", "x", "no name"),
])
def test_what_cannot_be_written_is_refused(shell: str, name: str, value: str, why: str) -> None:
    """With its reason; a value is never changed to fit."""
    written = shells.write({name: value, "GOOD": "x"}, shell, "python")
    assert len(written.refused) == 1
    assert why in written.refused[0]
    assert "GOOD" in written.text
    assert value not in written.text or value == "x"
