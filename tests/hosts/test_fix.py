"""`fix --apply` on this machine, with pages of our own that ask for harmless things."""

from __future__ import annotations

import json
import os
import pty
import pwd
import re
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.checkout import ROOT
from tests.hosts.looking import COMMAND

SCHEMA = json.loads((ROOT / "gpudoctor" / "schema" / "plan-1.json").read_text("utf-8"))
PAGE = """```toml
id = "GPD998{number}"
cause = "file-in-the-way-{number}"
severity = "error"
scope = "host"
summary = "hidden by {{python.shadowing_files}}"
since = "2026.11.0"

[[detect]]
name = "there"
when = [{when}]

[[fix]]
kind = "system"
title = "Do thing {number}"
risk = "{risk}"
commands = {commands}
undo = "echo undo {number}"
effect = [{effect}]
```

# A file is in the way

For tests.
"""
THERE = '{ fact = "python.shadowing_files", op = "exists" }'
SHADOWED = f'{THERE}, {{ fact = "python.shadowing_files", op = "differs", value = [] }}'
MOVED = '{ fact = "python.shadowing_files", value = [] }'
MOVE = "mv {python.shadowing_files} moved"


def set_to(variable: str, value: str) -> tuple[str, str]:
    """Return a condition on a variable, and the effect that it is gone."""
    return (f'{{ fact = "environment.{variable}", op = "equals", value = "{value}" }}',
            f'{{ fact = "environment.{variable}", absent = true }}')


class Place:
    """A folder with pages, a file that hides torch, and the log of what is applied there."""

    def __init__(self, folder: Path) -> None:
        self.work, self.rules, self.log = folder / "work", folder / "rules", folder / "fix.log"
        self.work.mkdir()
        (self.rules / "host").mkdir(parents=True)
        (self.rules / "db.toml").write_text('version = "2026.11.0"\nschema = 1\n')
        self.shadow = self.work / "torch.py"
        self.shadow.write_text("")
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}

    def page(self, number: int, commands: Sequence[str], *, risk: str = "safe", when: str = SHADOWED,
             effect: str = MOVED) -> None:
        """Add a page; the first one is found first."""
        text = PAGE.format(number=number, commands=json.dumps(commands), risk=risk, when=when, effect=effect)
        (self.rules / "host" / f"GPD998{number}-file-in-the-way-{number}.md").write_text(text)

    def words(self, *options: str) -> list[str]:
        """Return the command line."""
        log = ["--log", str(self.log)] if "--apply" in options and "--log" not in options else []
        return [*COMMAND, "fix", "--depth", "static", "--rules", str(self.rules), *log, *options]

    def fix(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run it without a terminal."""
        return subprocess.run(self.words(*options), cwd=self.work, env=self.environment, text=True,
                              timeout=120, check=False, stdin=subprocess.DEVNULL, capture_output=True)

    def applied(self, *options: str) -> tuple[dict[str, Any], int]:
        """Apply it and return the document, which obeys its schema, and the exit code."""
        done = self.fix("--apply", "--format", "json", *options)
        document: dict[str, Any] = json.loads(done.stdout)
        jsonschema.validate(document, SCHEMA)
        assert document["exit_code"] == done.returncode
        return document, done.returncode


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a place where something is wrong that a command can repair."""
    return Place(tmp_path)


def outcomes(document: dict[str, Any]) -> list[str]:
    """Return what became of the steps."""
    return [end["outcome"] for end in document["applied"]["steps"]]


def test_a_plan_alone_changes_nothing(place: Place) -> None:
    """And its exit code is that of a check."""
    place.page(1, [MOVE])
    done = place.fix()
    assert (done.returncode, done.stderr) == (1, "")
    assert f"run      mv {place.shadow} moved" in done.stdout
    assert place.shadow.exists()


def test_a_safe_step_is_run_and_works(place: Place) -> None:
    """Without a question; the next look finds nothing, and the log says so."""
    place.page(1, ["echo begun", MOVE])
    document, code = place.applied()
    assert (code, outcomes(document)) == (0, ["done"])
    assert document["applied"]["after"]["verdict"] == "healthy"
    assert not place.shadow.exists()
    log = place.log.read_text()
    assert re.search(r"\$ echo begun\n  \| begun\n.*ended with exit code 0", log)
    assert "It worked" in log
    assert document["applied"]["undo"] == ["echo undo 1"]
    assert "TO UNDO WHAT WAS DONE, in this order\n  echo undo 1\n" in log
    assert stat.S_IMODE(place.log.stat().st_mode) == 0o600


def test_text_says_what_was_done(place: Place) -> None:
    """The plan before anything is run, the end behind it; what commands say is for people."""
    place.page(1, ["echo begun", MOVE])
    done = place.fix("--apply")
    assert done.returncode == 0
    assert done.stdout.index("STEP 1") < done.stdout.index("step 1   done")
    assert "It worked" in done.stdout
    assert "begun" not in done.stdout.replace("echo begun", "")
    assert f"$ echo begun\nbegun\n$ mv {place.shadow} moved\n" in done.stderr


def test_a_step_that_does_not_cure_is_not_called_a_success(place: Place) -> None:
    """Its command succeeds, and the next look finds the same."""
    place.page(1, ["true"])
    document, code = place.applied()
    assert (code, outcomes(document)) == (1, ["done"])
    assert "It did not work" in place.log.read_text()
    assert place.shadow.exists()


def two_steps(place: Place, first: Sequence[str], second: Sequence[str], *, risk: str = "safe") -> None:
    """Write pages for two faults, each with a step of its own."""
    place.environment.update(CUDA_CACHE_PATH="one", CUDA_HOME="two")
    for number, commands in enumerate((first, second), 1):
        variable = ("CUDA_CACHE_PATH", "CUDA_HOME")[number - 1]
        when, effect = set_to(variable, ("one", "two")[number - 1])
        place.page(number, commands, when=when, effect=effect, risk=risk if number == 1 else "safe")


def test_a_failure_in_the_middle_stops_and_leaves_the_way_back(place: Place) -> None:
    """What was done is undone last step first, the failed one included; what comes later is not begun."""
    two_steps(place, ["touch one"], ["touch two", "exit 7", "touch three"])
    document, code = place.applied()
    assert (code, outcomes(document)) == (1, ["done", "failed"])
    assert document["applied"]["steps"][1]["detail"] == "exit 7 ended with exit code 7"
    assert document["applied"]["undo"] == ["echo undo 2", "echo undo 1"]
    assert sorted(path.name for path in place.work.iterdir()) == ["one", "torch.py", "two"]
    assert "  echo undo 2\n  echo undo 1\n" in place.log.read_text()
    place.log.unlink()
    two_steps(place, ["exit 7"], ["touch four"])
    document, _ = place.applied()
    assert outcomes(document) == ["failed", "not-reached"]
    assert not (place.work / "four").exists()


def test_without_a_terminal_nothing_is_asked_and_only_what_is_safe_is_run(place: Place) -> None:
    """What was not run is said, with the reason."""
    two_steps(place, ["touch one"], ["touch two"], risk="admin")
    document, _ = place.applied()
    assert outcomes(document) == ["not-allowed", "done"]
    assert "there is no terminal to ask on" in document["applied"]["steps"][0]["detail"]
    assert sorted(path.name for path in place.work.iterdir()) == ["torch.py", "two"]


def test_what_rests_on_a_step_that_was_not_run_is_not_run(place: Place) -> None:
    """The second step cures only behind the first: its page looks at what the first one changes."""
    place.environment.update(CUDA_CACHE_PATH="one")
    when, effect = set_to("CUDA_CACHE_PATH", "one")
    place.page(1, ["touch one"], risk="admin", when=when, effect=effect)
    other = '{ fact = "environment.CUDA_CACHE_PATH", op = "exists" }, ' + SHADOWED
    place.page(2, ["touch two"], when=SHADOWED, effect=MOVED)
    place.page(3, ["touch three"], when=other, effect='{ fact = "environment.CUDA_CACHE_PATH", value = "x" }')
    document, _ = place.applied()
    assert outcomes(document)[0] == "not-allowed"
    assert "three" not in [path.name for path in place.work.iterdir()]


def test_dry_run_says_what_would_be_done(place: Place) -> None:
    """And does nothing; no log is begun."""
    two_steps(place, ["touch one"], ["touch two"], risk="admin")
    document, code = place.applied("--dry-run")
    assert (code, outcomes(document)) == (1, ["would-ask", "would-run"])
    assert (document["applied"]["log"], document["applied"]["after"]) == (None, None)
    assert [path.name for path in place.work.iterdir()] == ["torch.py"]
    assert not place.log.exists()


@pytest.mark.parametrize(("options", "words"), [
    (["--yes-safe"], "it needs --apply"), (["--dry-run"], "it needs --apply"),
    (["--log", "x"], "it needs --apply"), (["--apply", "--pid", "1"], "exclude one another"),
    (["--apply", "--assume", "driver=none"], "exclude one another"),
    (["--apply", "--from", "x.json"], "exclude one another"),
])
def test_wishes_that_contradict_are_wrong_usage(options: list[str], words: str, place: Place) -> None:
    """In one line, before anything is looked at."""
    place.page(1, [MOVE])
    done = place.fix(*options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize("log", ["folder", "missing/x.log", "old.log"])
def test_without_a_log_nothing_is_run(log: str, place: Place) -> None:
    """An older log may be the only way back: it is not written over."""
    place.page(1, [MOVE])
    (place.work / "folder").mkdir()
    (place.work / "old.log").write_text("TO UNDO: x\n")
    done = place.fix("--apply", "--log", log)
    assert done.returncode == 4
    assert log in done.stderr
    assert place.shadow.exists()
    assert (place.work / "old.log").read_text() == "TO UNDO: x\n"


def test_nothing_is_run_that_cannot_be_logged(place: Place) -> None:
    """The log's folder goes in the middle: what comes later is not begun, and the way back is still said."""
    folder = place.work / "logs"
    folder.mkdir()
    place.log = folder / "fix.log"
    two_steps(place, [f"rm -r {folder}", "touch one"], ["touch two"])
    document, _ = place.applied()
    assert outcomes(document) == ["failed", "not-reached"]
    assert "nothing is run without a log" in document["applied"]["steps"][0]["detail"]
    assert document["applied"]["undo"] == ["echo undo 1"]
    assert [path.name for path in place.work.iterdir()] == ["torch.py"]


def test_a_log_is_begun_by_itself(place: Place, tmp_path: Path) -> None:
    """In the user's state folder, under the time; two runs have two."""
    place.page(1, ["true"])
    place.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    for _ in range(2):
        subprocess.run([*place.words(), "--apply"], timeout=120, cwd=place.work, env=place.environment,
                       stdin=subprocess.DEVNULL, capture_output=True, check=False)
    logs = list((tmp_path / "state" / "gpudoctor").iterdir())
    assert len(logs) == 2
    assert all(re.fullmatch(r"fix-\d{8}T\d{6}Z(-\d+)?\.log", log.name) for log in logs)


def test_no_log_is_begun_where_no_step_can_be_run(place: Place, tmp_path: Path) -> None:
    """There is nothing to undo; one that was asked for is written."""
    place.page(1, ["true"])
    page = place.rules / "host" / "GPD9981-file-in-the-way-1.md"
    page.write_text(page.read_text().replace('risk = "safe"', 'risk = "safe"\nby_hand = true'))
    place.environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    words = [word for word in place.words("--apply", "--yes-safe") if word not in ("--log", str(place.log))]
    done = subprocess.run(words, timeout=120, cwd=place.work, env=place.environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert ("Nothing was run." in done.stdout, (tmp_path / "state").exists()) == (True, False)
    place.applied("--yes-safe")
    assert place.log.exists()


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_a_log_goes_to_the_users_own_home_where_home_names_none(home: str | None) -> None:
    """An empty HOME put it under `/`, in /.local/state."""
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME")}
    given = {} if home is None else {"HOME": home, "XDG_STATE_HOME": home}
    done = subprocess.run(
        [sys.executable, "-c", "from gpudoctor.cli import step_log; print(step_log.folder_of_logs())"],
        env={**kept, **given, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/state/gpudoctor\n"


def test_a_log_is_bounded_and_keeps_no_secret(place: Place) -> None:
    """Passwords in addresses are left out, control characters made visible, long output cut in the middle."""
    place.page(1, ["echo https://ana:geheim@example.org/simple", "printf '\\033]0;x\\007\\n'",
                   "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done"])
    place.applied()
    log = place.log.read_text()
    assert "https://[redacted]@example.org/simple" in log
    assert "| https://ana:geheim@" not in log
    assert "\\x1b]0;x\\x07" in log
    assert "\x1b" not in log
    assert "  | line 0\n" in log
    assert "  | line 4999\n" in log
    assert "(4700 lines left out)" in log
    assert len(log) < 20_000


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_truthful_log(number: signal.Signals, code: int, place: Place) -> None:
    """And the way back; the command is ended with all that it started, and nothing more is begun."""
    asleep = f"sleep 60.{os.getpid()}{number:02d}"  # a duration that nobody else has
    two_steps(place, [f"touch one; {asleep}; touch never"], ["touch two"])
    process = subprocess.Popen(place.words("--apply"), cwd=place.work, env=place.environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (place.work / "one").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert subprocess.run(["pgrep", "-f", asleep], capture_output=True, check=False).stdout != b""
    running = place.log.read_text()
    assert "(running; if nothing follows here, it was cut off)" in running
    assert "  echo undo 1\n" in running
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert "INTERRUPTED" in output
    assert "echo undo 1" in output
    log = place.log.read_text()
    assert "ended by signal" in log
    assert "  echo undo 1\n" in log
    assert not (place.work / "two").exists()
    assert subprocess.run(["pgrep", "-f", asleep], capture_output=True, check=False).stdout == b""


# -- a terminal ------------------------------------------------------------------------------------

def at_a_terminal(place: Place, answers: Sequence[bytes], *options: str) -> tuple[str, int]:
    """Run it at a terminal, answer its questions one after another, and return what was shown."""
    number, controller = pty.fork()
    if number == 0:
        os.chdir(place.work)
        os.execve(COMMAND[0], place.words("--apply", *options), place.environment)
    shown, waiting, deadline = b"", list(answers), time.monotonic() + 90
    while time.monotonic() < deadline:
        if not select.select([controller], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(controller, 4096)
        except OSError:  # the other side is closed
            break
        shown += data
        if waiting and shown.rstrip().endswith(b"[y/N]"):
            os.write(controller, waiting.pop(0))
            shown += b" answered "
    _, status = os.waitpid(number, 0)
    os.close(controller)
    return shown.decode(), os.waitstatus_to_exitcode(status)


def test_at_a_terminal_each_other_step_is_asked_for(place: Place) -> None:
    """The commands are shown with the question; only yes is yes."""
    two_steps(place, ["touch one"], ["touch two"], risk="admin")
    shown, code = at_a_terminal(place, [b"y\n"])
    assert code == 1
    assert "step 1 (admin): Do thing 1\r\n    touch one\r\nRun it? [y/N]" in shown
    assert shown.count("[y/N]") == 1
    assert {"one", "two"} <= {path.name for path in place.work.iterdir()}
    for answer in (b"\n", b"n\n", b"yeah\n"):
        place.log.unlink()
        (place.work / "one").unlink(missing_ok=True)
        shown, _ = at_a_terminal(place, [answer])
        assert "not run: declined" in shown
        assert not (place.work / "one").exists()


def test_yes_safe_asks_nothing_at_a_terminal(place: Place) -> None:
    """The safe steps are run, the others are not."""
    two_steps(place, ["touch one"], ["touch two"], risk="admin")
    shown, _ = at_a_terminal(place, [], "--yes-safe")
    assert "[y/N]" not in shown
    assert "--yes-safe allows the safe steps alone" in shown
    assert "one" not in {path.name for path in place.work.iterdir()}


def test_ctrl_c_at_a_question(place: Place) -> None:
    """Nothing was begun, and nothing is."""
    two_steps(place, ["touch one"], ["touch two"], risk="admin")
    shown, code = at_a_terminal(place, [b"\x03"])
    assert code == 130
    assert "INTERRUPTED: before it was begun" in shown
    assert [path.name for path in place.work.iterdir()] == ["torch.py"]


def test_ctrl_c_in_a_command(place: Place) -> None:
    """It is ended by the terminal itself, nothing more is begun, and the way back is shown."""
    two_steps(place, ["echo [y/N]; touch one; sleep 60"], ["touch two"])
    shown, code = at_a_terminal(place, [b"\x03"])
    assert code == 130
    assert "INTERRUPTED" in shown
    assert "echo undo 1" in shown
    assert "ended by signal 2" in place.log.read_text()
    assert not (place.work / "two").exists()
