"""What stands in the Dockerfile, and why: a pure function of what was chosen."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from gpudoctor import __version__, versions
from gpudoctor.dockerfiles import lines
from gpudoctor.dockerfiles.choice import Chosen
from gpudoctor.dockerfiles.compiler import lacks_libdevice
from gpudoctor.dockerfiles.inside import ENVIRONMENT, PYTHON
from gpudoctor.dockerfiles.lines import Line
from gpudoctor.frozen import frozen
from gpudoctor.model import Candidate, RuleDatabase, rows_of

OLDEST_PYTHON = "3.10"  # that gpudoctor itself runs on
USER_ID = 10001
SHARED_MEMORY = "8g"
SKIP = "GPUDOCTOR_PREFLIGHT"
DOCTOR = "/opt/gpudoctor/bin/gpudoctor"
_DOCTOR_PYTHON = "/opt/gpudoctor/bin/python"
_INSTALL = " -m pip install "
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)*")  # 2.20.0, and 25.02 of the tag 25.02-py3
_MOST_REASONS = 4
_WHEEL = re.compile(r"gpudoctor_cli-[0-9A-Za-z.+]{1,60}-py3-none-any\.whl\Z")
_SHARING = frozenset({"torch"})  # their workers hand data through /dev/shm
_PIP_CACHE = "/var/cache/pip"
_C_COMPILER = "torch.compile needs a C compiler (gcc and libc6-dev), which this image does without"
_NO_LIBDEVICE = ("what is compiled (jit_compile) needs ptxas and libdevice, which nothing here brings: the "
                 f"look stops at that, with {SKIP}=import it does not try")


@frozen
class Options:
    """How it is written: the image's name, the file's, a wheel of gpudoctor beside it, BuildKit's syntax.

    allow_undecided: whether the program starts although something that matters could not be judged.
    """

    name: str | None = None
    file: str = "Dockerfile"
    wheel: str | None = None
    buildkit: bool = False
    allow_undecided: bool = False

    def checked(self) -> None:
        """Raise `JunkReference` or `UnwritableError` for a name that cannot be used."""
        lines.sound(self.file, "the name of the file")
        if self.name is not None:
            lines.name(self.name)
        if self.wheel is not None and _WHEEL.match(self.wheel) is None:
            raise lines.JunkReference(f"--gpudoctor {self.wheel[:80]!r}: name the wheel that lies beside the "
                                      "Dockerfile: gpudoctor_cli-VERSION-py3-none-any.whl")


def image_name(chosen: Chosen, options: Options) -> str:
    """Return what the image is called."""
    one = chosen.candidate
    tag = re.sub(r"[^A-Za-z0-9_.-]", "-", one.version)
    return options.name or lines.name(f"gpu-{one.framework}:{tag}")


def has_preflight(chosen: Chosen) -> bool:
    """Say whether gpudoctor can be installed beside the Python of the image."""
    return chosen.python is not None and versions.parse(chosen.python) >= versions.parse(OLDEST_PYTHON)


def shares_memory(chosen: Chosen) -> bool:
    """Say whether processes will share data: workers of a framework, or NCCL between cards."""
    return bool(_names(chosen.candidate) & _SHARING) or len(chosen.said.ground.cards) > 1


def _names(one: Candidate) -> set[str]:
    return {one.framework, *(member.framework for member in one.beside)}


def _is_before(one: Candidate, taken: Candidate) -> bool:
    """Say whether a release is newer than the one that is taken, or another build of it."""
    ours, theirs = (_RELEASE.match(each.image.rpartition(":")[2] if each.image and each.kind == "image"
                                   else each.version) for each in (taken, one))
    if one.framework != taken.framework or ours is None or theirs is None:
        return False
    newer, older = versions.parse(theirs[0]), versions.parse(ours[0])
    return newer > older or (newer == older and one.cuda != taken.cuda)


def dockerfile(chosen: Chosen, cards: Sequence[str], options: Options, database: RuleDatabase) -> str:
    """Return the whole file; `cards` is what is required of them."""
    writer = _Writer(chosen, cards, options, database)
    return lines.rendered(writer.blocks())


class _Writer:
    def __init__(self, chosen: Chosen, cards: Sequence[str], options: Options,
                 database: RuleDatabase) -> None:
        self._chosen, self._cards, self._options, self._database = chosen, cards, options, database
        self._own_environment = chosen.candidate.kind == "pip"
        self._keeps_entry = chosen.base == "ngc"

    def blocks(self) -> list[list[Line]]:
        """Return the blocks of the file."""
        return [
            self._head(), self._base(), self._environment(), self._packages(), self._user(),
            self._framework() if self._own_environment else [],
            self._doctor() if has_preflight(self._chosen) else [], self._start(), self._usage()]

    def _rule(self, *causes: str) -> str:
        """Return the rules of causes, in brackets, as reasons name them."""
        found = [rule.id for cause in causes for rule in self._database.rules if rule.cause == cause]
        return f" ({', '.join(dict.fromkeys(found))})" if found else ""

    # -- what stands in it, from above -----------------------------------------------------------------------

    def _head(self) -> list[Line]:
        said = self._chosen.said
        cards = "; ".join(f"{card.name}, compute capability {card.compute_capability}"
                          for card in said.ground.cards)
        by = f"Written by gpudoctor {said.tool_version} with rules {said.rules_version}"
        head = [f"{by}: driver {said.ground.driver}; {cards or 'no card'}"]
        if said.assumptions:
            head.append(f"assumed, not seen: {', '.join(said.assumptions)}")
        return [*(Line(why=text) for text in head), *self._remarks()]

    def _remarks(self) -> list[Line]:
        """Return what `recommend` notes of the release, each with its rule."""
        one = self._chosen.candidate
        cuda = f" for CUDA {one.cuda}" if one.cuda else ""
        return [Line(why=f"{one.name}{cuda}: no rule objects to it there"), *self._not_taken(),
                *(Line(why=f"note: {note}") for note in one.notes if note not in self._of_variables()),
                *([Line(why=_C_COMPILER)] if _names(one) & _SHARING and self._own_environment else []),
                *([Line(why=f"{_NO_LIBDEVICE}{self._rule('libdevice-not-found')}")] if lacks_libdevice(one)
                  else [])]

    def _not_taken(self) -> list[Line]:
        """Return why none is taken that is newer, or the usual build of this release: once for each rule."""
        one = self._chosen.candidate
        found: dict[str, Line] = {}
        for each in self._chosen.said.candidates:
            if not each.offered and each.kind == one.kind and _is_before(each, one):
                reason, name = each.rejected_by[0], each.image if each.kind == "image" else each.name
                found.setdefault(reason.rule, Line(
                    why=f"not {name}: {reason.message.partition('. ')[0]} ({reason.rule})"))
        return [*found.values()][:_MOST_REASONS]

    def _of_variables(self) -> list[str]:
        """Return the notes that name a variable: they stand above the line that sets it."""
        one = self._chosen.candidate
        return [note for note in one.notes if any(name in note for name in one.environment)]

    def _base(self) -> list[Line]:
        whys = {
            "python-slim": "The wheels bring their CUDA libraries, so a base with CUDA would be a second one"
                           + self._rule("pip-nvidia-libs-not-installed", "docker-image-without-cuda"),
            "tensorflow": "TensorFlow's own image: framework and CUDA libraries are in it, nothing is added"
                          + self._rule("docker-image-without-cuda"),
            "ngc": "NVIDIA's own build: framework and CUDA libraries are in it, nothing is added"
                   + self._rule("docker-image-without-cuda"),
            "cuda": "The wheel brings no CUDA libraries: this base has those that it was built for, runtime "
                    "and not devel; the driver runs its CUDA, so its compatibility package stays unused"
                    + self._rule("docker-image-without-cuda", "cuda-compat-shadows-libcuda"),
        }
        pin = "" if "@sha256:" in self._chosen.image else (
            "; its digest is in no table: docker pull prints it")
        return lines.base(self._chosen.image, whys[self._chosen.base] + pin)

    def _environment(self) -> list[Line]:
        """Return what the runtime is told, which images with CUDA have of their own."""
        if self._chosen.base != "python-slim":
            return []
        found = [
            *lines.variables(
                {"NVIDIA_VISIBLE_DEVICES": "all"},
                "For --runtime=nvidia, which hands in what is named here; --gpus and Kubernetes name it"
                + self._rule("docker-no-gpu-flag")),
            *lines.variables(
                {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
                "The runtime mounts libcuda for compute and NVML for utility, and frameworks need both"
                + self._rule("docker-driver-capabilities"))]
        least = self._chosen.candidate.least_cuda
        if least is not None:
            found += lines.variables(
                {"NVIDIA_REQUIRE_CUDA": f"cuda>={least}"},
                "With --gpus no container starts where the driver is too old for it; CDI does not ask"
                + self._rule("docker-require-cuda-unsatisfied", "driver-too-old"))
        return found

    def _packages(self) -> list[Line]:
        """Return the lines that install what the image lacks: a Python, and what the wheels need."""
        whys, wanted = [], []
        if self._chosen.base == "cuda":
            whys.append(f"nvidia/cuda has no Python; this is the system's own, {self._chosen.python}")
            wanted += ["python3", "python3-venv"]
        for row in rows_of(self._database.tables, "wheel_system_packages") if self._own_environment else ():
            if row["framework"] in _names(self._chosen.candidate):
                whys.append(f"the wheels of {row['framework']} need {row['library']} of the system")
                wanted.append(str(row["package"]))
        if not wanted:
            return []
        install = f"apt-get install --yes --no-install-recommends {shlex.join(wanted)}"
        return [Line(text="# hadolint ignore=DL3008", why="; ".join(whys)),
                lines.run(["apt-get update", install, "rm -rf /var/lib/apt/lists/*"])]

    def _user(self) -> list[Line]:
        return [lines.run(
            [f"groupadd --gid {USER_ID} app",
             f"useradd --uid {USER_ID} --gid {USER_ID} --create-home --no-log-init app"],
            "No root at run time; a name and a home, because torch and pip ask for them")]

    def _framework(self) -> list[Line]:
        one = self._chosen.candidate
        install = self._pip([f"python3 -m venv {ENVIRONMENT}", *self._installs(one)],
                            "In an environment of its own: it shares no file with packages of the system"
                            + self._rule("wheel-file-collision"))
        set_here = {name: value for name, value in one.environment.items() if value}
        needed = f"This release needs it{self._rule('ld-library-path-not-set')}"
        why = "; ".join(self._of_variables()) or needed
        path = Line(text=f"ENV PATH={ENVIRONMENT}/bin:$PATH VIRTUAL_ENV={ENVIRONMENT}")
        return [install, *(lines.variables(set_here, why) if set_here else []), path]

    def _installs(self, one: Candidate) -> list[str]:
        """Return pip's calls as `recommend` words them, without what pip would keep in the layer."""
        start = f"{PYTHON}{_INSTALL}"
        calls = one.commands[0].removeprefix(start).split(f" && {start}")
        return [f"{start}{self._cache()}{call}" for call in calls]

    def _cache(self) -> str:
        return f"--cache-dir {_PIP_CACHE} " if self._options.buildkit else "--no-cache-dir "

    def _pip(self, commands: Sequence[str], why: str = "") -> Line:
        """Return a layer in which pip runs; BuildKit keeps what was downloaded beside the layers."""
        mount = f"--mount=type=cache,target={_PIP_CACHE} " if self._options.buildkit else ""
        return lines.run([f"{mount}{commands[0]}", *commands[1:]], why)

    def _doctor(self) -> list[Line]:
        wheel = self._options.wheel
        what = f"gpudoctor-cli=={__version__}" if wheel is None else f"/opt/{wheel}"
        copied = [] if wheel is None else [lines.words("COPY", [wheel, "/opt/"])]
        made = f"python3 -m venv {'' if self._own_environment else '--without-pip '}/opt/gpudoctor"
        pip = (f"{_DOCTOR_PYTHON}{_INSTALL}" if self._own_environment else
               f"python3 -m pip --python {_DOCTOR_PYTHON} install ")
        why = "In another environment, where it changes nothing; from elsewhere: --build-arg GPUDOCTOR=..."
        return [Line(text=f"ARG GPUDOCTOR={what}", why=why), *copied,
                self._pip([made, f'{pip}{self._cache()}"${{GPUDOCTOR}}"'])]

    def _start(self) -> list[Line]:
        user = [Line(text=f"USER {USER_ID}:{USER_ID}",
                     why="By number: Kubernetes (runAsNonRoot) cannot judge a name"),
                Line(text="WORKDIR /home/app")]
        program = ["python" if self._own_environment else "python3"]
        if not has_preflight(self._chosen):
            has = f"this image has {self._chosen.python}" if self._chosen.python else (
                "which one this image has is in no table")
            why = f"No pre-flight: gpudoctor runs on Python {OLDEST_PYTHON} and newer, and {has}"
            return [*user, lines.words("CMD", program, why)]
        ends = "A fault" if self._options.allow_undecided else "A fault, or what could not be judged,"
        why = f"{ends} ends the container; {SKIP}=off skips the look, =static makes it quick"
        check = preflight(self._chosen, self._cards, self._options)
        entry = ["/bin/sh", "-c", script(check), "gpu-preflight"]
        if self._keeps_entry:
            return [*user, lines.words("CMD", [*entry, *program],
                                       f"{why}; NVIDIA's own entry stays, it sets up cuda-compat")]
        return [*user, lines.words("ENTRYPOINT", entry, why), lines.words("CMD", program)]

    def _usage(self) -> list[Line]:
        name = shlex.quote(image_name(self._chosen, self._options))
        file = "" if self._options.file == "Dockerfile" else f" -f {shlex.quote(self._options.file)}"
        shared = f" --shm-size={SHARED_MEMORY}" if shares_memory(self._chosen) else ""
        why = (f"Shared memory for workers and NCCL; --ipc=host instead shares the host's"
               f"{self._rule('shm-too-small')}")
        return [lines.command(f"docker build{file} -t {name} ."), *([Line(why=why)] if shared else []),
                lines.command(f"docker run --rm -it --gpus all{shared} {name}"),
                Line(why="with CDI (Podman, Docker 28.2 and newer): --device nvidia.com/gpu=all instead of "
                         f"--gpus all{self._rule('cdi-not-generated')}")]


def preflight(chosen: Chosen, cards: Sequence[str], options: Options) -> list[str]:
    """Return the words of the look from inside, without its depth."""
    python = ["--python", PYTHON] if chosen.candidate.kind == "pip" else []
    return [DOCTOR, "check", *python, *asked_of_check(cards, options)]


def asked_of_check(cards: Sequence[str], options: Options) -> list[str]:
    """Return what a look is asked about whatever image it is made in."""
    required = [word for text in cards for word in ("--require", text)]
    return [*required, *(["--allow-undecided"] if options.allow_undecided else [])]


def script(check: Sequence[str]) -> list[str]:
    """Return the start of the container in parts of a line of sh: look, say why not, or be the program."""
    look = f'{shlex.join(check)} --depth "$depth" >&2'
    skip = f"gpu-preflight: not started; {SKIP}=off starts without this look"
    return [f'depth="${{{SKIP}:-smoke}}"; if [ "$depth" != off ]; then', f"{look} ||",
            f'{{ code=$?; echo {shlex.quote(skip)} >&2; exit "$code"; }}; fi;', 'exec "$@"']
