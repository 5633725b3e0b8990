"""What is compared with what, and what the ratio is to be at most."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.environments import LONG_PATH, MANY, MANY_REPORTS, USUAL_PATH, Environments
from benchmarks.logs import LARGE_MEGABYTES, SHORT_LINES
from benchmarks.timing import Command

HERE = Path(__file__).resolve().parent
OWN_LIBRARIES = "import typer, rich.console, packaging.specifiers, pynvml"
EXPLAIN_LIBRARIES = "import typer, rich.console, packaging.specifiers, ahocorasick_rs"
LOADS = ("import json, pathlib, sys\n"
         "for path in sorted(pathlib.Path(sys.argv[1]).iterdir()): json.loads(path.read_bytes())")
HARDEST_SET = ("--framework", "tensorflow<2.14", "--framework", "torch", "--framework", "jax",
               "--assume", "cc=6.1", "--assume", "cc=8.9", "--assume", "driver=595.45.04")
MATTERS = 1.2  # what thousands of anything may cost: it is not to matter
REPORTED = (0, 1, 3)  # healthy, findings, undecided: each is a report


class Unavailable(RuntimeError):
    """What is to be compared with is not on this machine: what it is, and how to get it."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two commands; `at_most` is the ratio that was promised. `slow` ones take seconds, so fewer pairs do."""

    name: str
    about: str
    against: str
    at_most: float
    commands: Callable[[Environments], tuple[Command, Command]]
    slow: bool = False


def check(environments: Environments, python: Path, *, depth: str = "static", folder: Path | None = None,
          path: str = USUAL_PATH) -> Command:
    """Return a check of an environment, from outside of it."""
    argv = [str(environments.doctor / "gpudoctor"), "check", "--depth", depth, "--python", str(python)]
    return Command(argv=argv, folder=folder or environments.empty_folder, environment={"PATH": path},
                   exit_codes=REPORTED)


def explain(environments: Environments, log: Path) -> Command:
    """Return the explanation of a log."""
    argv = [str(environments.doctor / "gpudoctor"), "explain", str(log)]
    return Command(argv=argv, folder=environments.empty_folder, exit_codes=REPORTED)


def recommend(environments: Environments, *wishes: str) -> Command:
    """Return a recommendation for a machine with an L4 and a driver that is not the newest."""
    machine = ("--python", "3.12", "--assume", "cc=8.9", "--assume", "driver=535.104.05")
    argv = [str(environments.doctor / "gpudoctor"), "recommend", *machine, *wishes]
    return Command(argv=argv, folder=environments.empty_folder, environment={"PATH": USUAL_PATH})


def _python(environments: Environments, python: Path, *arguments: str) -> Command:
    return Command(argv=[str(python), *arguments], folder=environments.empty_folder)


def _program(environments: Environments, program: Path, *arguments: str) -> Command:
    return Command(argv=[str(program), *arguments], folder=environments.empty_folder, exit_codes=(0, 1, 2))


def _own_libraries(e: Environments) -> tuple[Command, Command]:
    return check(e, e.plain), _python(e, e.doctor / "python", "-c", OWN_LIBRARIES)


def _cuda_doctor(e: Environments) -> tuple[Command, Command]:
    return check(e, e.plain), _program(e, e.cuda_doctor / "cuda-doctor", "diagnose")


def _collect_env(e: Environments) -> tuple[Command, Command]:
    return check(e, e.frameworks), _python(e, e.frameworks, "-m", "torch.utils.collect_env")


def _env_doctor(e: Environments) -> tuple[Command, Command]:
    return check(e, e.frameworks), _program(e, e.env_doctor / "env-doctor", "check")


def _folder(e: Environments) -> tuple[Command, Command]:
    return check(e, e.plain, folder=e.full_folder), check(e, e.plain)


def _distributions(e: Environments) -> tuple[Command, Command]:
    return check(e, e.many_distributions), check(e, e.plain)


def _path(e: Environments) -> tuple[Command, Command]:
    return (check(e, e.plain, folder=e.path_folder, path=LONG_PATH),
            check(e, e.plain, folder=e.path_folder))


def _full(e: Environments) -> tuple[Command, Command]:
    script = _python(e, e.tensorflow, str(HERE / "tensorflow_once.py"))
    return check(e, e.tensorflow, depth="smoke"), script


def _explain_libraries(e: Environments) -> tuple[Command, Command]:
    return explain(e, e.short_log), _python(e, e.doctor / "python", "-c", EXPLAIN_LIBRARIES)


def _recommend(e: Environments) -> tuple[Command, Command]:
    return recommend(e), _python(e, e.doctor / "python", "-c", OWN_LIBRARIES)


def _recommend_changes(e: Environments) -> tuple[Command, Command]:
    wishes = ("--framework", "tensorflow", "--framework", "torch", "--may-change", "driver,python")
    return recommend(e, *wishes), recommend(e)


def _recommend_three(e: Environments) -> tuple[Command, Command]:
    wishes = [word for name in ("torch", "tensorflow", "jax") for word in ("--framework", name)]
    return recommend(e, *wishes, "--may-change", "driver,python"), recommend(e)


def _recommend_refused(e: Environments) -> tuple[Command, Command]:
    """Return a set of which hundreds are refused, each because of packages for two majors of CUDA."""
    machine = ("--python", "3.8", "--assume", "cc=8.0", "--assume", "driver=525.60.13")
    argv = [str(e.doctor / "gpudoctor"), "recommend", *machine]
    whole = Command(argv=argv, folder=e.empty_folder, environment={"PATH": USUAL_PATH})
    wishes = ("--framework", "torch", "--framework", "tensorflow<2.14", "--may-change", "driver,python")
    return replace(whole, argv=[*argv, *wishes]), whole


def _recommend_hardest(e: Environments) -> tuple[Command, Command]:
    """Return the question that took longest of all that were drawn."""
    argv = [str(e.doctor / "gpudoctor"), "recommend", *HARDEST_SET]
    return (Command(argv=argv, folder=e.empty_folder, environment={"PATH": USUAL_PATH}, exit_codes=(0, 1)),
            _python(e, e.doctor / "python", "-c", OWN_LIBRARIES))


def _ripgrep(e: Environments) -> tuple[Command, Command]:
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        raise Unavailable("ripgrep is not on this machine; Debian and Ubuntu have it as ripgrep")
    argv = [ripgrep, "-j1", "-c", "-F", "-f", str(e.literals), str(e.large_log)]
    return explain(e, e.large_log), Command(argv=argv, folder=e.empty_folder)


def _reports(e: Environments) -> tuple[Command, Command]:
    argv = [str(e.doctor / "gpudoctor"), "report", str(e.reports)]
    return (Command(argv=argv, folder=e.empty_folder, exit_codes=REPORTED),
            _python(e, e.doctor / "python", "-c", LOADS, str(e.reports)))


COMPARISONS: Sequence[Comparison] = (
    Comparison(name="own-libraries", about="check --depth static, no framework", at_most=2.0,
               against="importing its own libraries", commands=_own_libraries),
    Comparison(name="cuda-doctor", about="check --depth static, no framework", at_most=0.7,
               against="cuda-doctor diagnose", commands=_cuda_doctor),
    Comparison(name="collect-env", about="check --depth static, TensorFlow and torch", at_most=0.1,
               against="python -m torch.utils.collect_env", commands=_collect_env, slow=True),
    Comparison(name="env-doctor", about="check --depth static, TensorFlow and torch", at_most=0.1,
               against="env-doctor check", commands=_env_doctor, slow=True),
    Comparison(name="folder", about=f"the same in a folder of {MANY} files", at_most=MATTERS,
               against="in an empty folder", commands=_folder),
    Comparison(name="distributions", about=f"the same with {MANY} distributions", at_most=MATTERS,
               against="with none", commands=_distributions),
    Comparison(name="path", about=f"the same with a PATH of {MANY} folders", at_most=MATTERS,
               against="with a PATH of 3", commands=_path),
    Comparison(name="full", about="check (all of it), TensorFlow", at_most=1.15,
               against="a script that imports TensorFlow and runs the same once", commands=_full, slow=True),
    Comparison(name="explain", about=f"explain, a log of {SHORT_LINES} lines", at_most=2.0,
               against="importing its own libraries", commands=_explain_libraries),
    Comparison(name="recommend", about="recommend, every framework", at_most=8.0,
               against="importing its own libraries", commands=_recommend),
    Comparison(name="recommend-set", about="recommend, a set and its changes of driver and Python",
               at_most=3.0, against="recommend, every framework", commands=_recommend_changes),
    Comparison(name="recommend-three", about="recommend, a set of three and its changes",
               at_most=5.0, against="recommend, every framework", commands=_recommend_three),
    Comparison(name="recommend-refused", about="recommend, a set of which most are refused, and its changes",
               at_most=6.0, against="recommend, every framework, on that machine",
               commands=_recommend_refused),
    Comparison(name="recommend-hardest", about="recommend, the hardest set known and all changes for it",
               at_most=12.0, against="importing its own libraries", commands=_recommend_hardest),
    Comparison(name="log", about=f"explain, a log of {LARGE_MEGABYTES} MB", at_most=10.0,
               against="rg -j1 -c -F -f, the literals of its patterns", commands=_ripgrep, slow=True),
    Comparison(name="reports", about=f"report, {MANY_REPORTS} reports of 0.2 MB", at_most=5.0,
               against="json.loads of each", commands=_reports, slow=True),
)
