"""What `gpudoctor dockerfile` does, once its words are understood: look, choose, write, all or nothing."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping

from gpudoctor.cli import again, showing, sources
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.builds import Build
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.hosts import Host as Machine
from gpudoctor.cli.hosts import is_python
from gpudoctor.derive import requirements
from gpudoctor.dockerfiles import BaseName, Chosen, Nothing, Options, Wanted, checked, choose, compose
from gpudoctor.dockerfiles import dockerfile as text_of
from gpudoctor.dockerfiles import has_preflight, image_name, kubernetes
from gpudoctor.examine import EXIT_HEALTHY, EXIT_UNDECIDED
from gpudoctor.frozen import frozen
from gpudoctor.host import Data, Entry, Host, Kind, Missing, Refused
from gpudoctor.model import RuleDatabase
from gpudoctor.render import recommendation
from gpudoctor.render.plain import printable

COMPOSE, POD = "compose.yaml", "pod.yaml"
_MOST_BYTES = 1 << 20  # of a file that may be there already


@frozen
class Wish:
    """The options of `gpudoctor dockerfile`."""

    frameworks: tuple[str, ...] = ()
    base: BaseName = "python-slim"
    require: tuple[str, ...] = ()
    python: str | None = None
    pre: bool = False
    recorded: str | None = None
    assume: tuple[str, ...] = ()
    output: str | None = None
    compose: bool = False
    kubernetes: bool = False
    force: bool = False
    tag: str | None = None
    wheel: str | None = None
    buildkit: bool = False
    allow_undecided: bool = False
    verify: bool = False
    build_arguments: tuple[str, ...] = ()
    build_seconds: float = 3600.0
    format: str | None = None
    timeout: float = 20.0
    rules: str | None = None


def dockerfile(wish: Wish) -> int:
    """Write what fits and return the exit code."""
    options = _options(wish)
    machine = Machine(python=wish.python, recorded=wish.recorded, assume=wish.assume, timeout=wish.timeout)
    interpreter, version = machine.wanted_python()
    required = requirements.together(requirements.parse(text) for text in wish.require)
    wanted = Wanted(frameworks=wish.frameworks, requirements=required, base=wish.base, python=version,
                    pre=wish.pre, assumptions=wish.assume)
    database = sources.announced_database(wish.rules, "told")  # reasons name rules that only texts can show
    checked(wanted, database)  # before anything is looked at
    chosen = choose(machine.seen(interpreter, database), database, wanted)
    if isinstance(chosen, Nothing):
        _say_nothing_fits(chosen, wish, interpreter)
        return chosen.exit_code
    _write(_texts(chosen, wanted, wish, options, database), wish)
    if not wanted.wishes:
        sys.stderr.write(f"gpudoctor: for {_frameworks(chosen)}, as no --framework was named\n")
    if wish.wheel is None and has_preflight(chosen):
        sys.stderr.write("gpudoctor: the image takes gpudoctor-cli from pip's index; where that does not "
                         "have it, put a wheel beside the Dockerfile and name it with --gpudoctor WHEEL\n")
    return _verified(chosen, wanted, wish, options, database) if wish.verify else EXIT_HEALTHY


def _verified(chosen: Chosen, wanted: Wanted, wish: Wish, options: Options, database: RuleDatabase) -> int:
    from gpudoctor.cli import verifying

    asked = Asked(given=frozenset({"--image"}), image=image_name(chosen, options), timeout=wish.timeout,
                  assume=tuple(text for text in wish.assume if not is_python(text)),
                  require=(*wish.require, *_promised(chosen)), format=wish.format or "text",
                  allow_undecided=wish.allow_undecided, rules=wish.rules)
    text = text_of(chosen, wanted.of_cards, options, database)
    return verifying.verify(text, chosen.image, _build(wish), asked)


def _promised(chosen: Chosen) -> tuple[str, ...]:
    """Return the requirements that what was written is there; what an image brings has own versions."""
    one = chosen.candidate
    if one.kind == "image":
        return (one.framework, *(member.framework for member in one.beside))
    return (f"{one.framework}=={one.version}",
            *(f"{member.framework}=={member.version}" for member in one.beside))


def _build(wish: Wish) -> Build:
    return Build(arguments=wish.build_arguments, limit_seconds=wish.build_seconds, tag=wish.tag,
                 folder=os.path.dirname(os.path.abspath(wish.output or "")), wheel=wish.wheel)


def _options(wish: Wish) -> Options:
    """Return how it is to be written; raise for what cannot be followed, before time is spent on it."""
    showing.refuse_lost_output(wish.output)
    both = (("--compose", wish.compose), ("--kubernetes", wish.kubernetes))
    beside = [name for name, asked in both if asked]
    if beside and wish.output in (None, "-"):
        raise UsageError(f"{beside[0]} writes a file beside the Dockerfile: say where with -o FILE")
    file = os.path.basename(wish.output or "") or "Dockerfile"
    if beside and file in (COMPOSE, POD):
        raise UsageError(f"-o {file}: {beside[0]} writes a file of that name beside it")
    options = Options(name=wish.tag, file=file if file != "-" else "Dockerfile", wheel=wish.wheel,
                      buildkit=wish.buildkit, allow_undecided=wish.allow_undecided)
    options.checked()
    _refuse_unverifiable(wish)
    _refuse_absent_wheel(wish)
    return options


def _refuse_unverifiable(wish: Wish) -> None:
    """Raise `UsageError` for what cannot be built here, or would not be what was written."""
    if not wish.verify:
        if wish.build_arguments:
            raise UsageError("--build-arg is for the build of --verify")
        if wish.format is not None:
            raise UsageError("--format is for the report of --verify")
        return
    if wish.output in (None, "-"):
        raise UsageError("--verify prints a report: say with -o FILE where the Dockerfile goes")
    if wish.recorded is not None:
        raise UsageError("--from and --verify exclude one another: the image is checked on this machine")
    if wish.buildkit:
        raise UsageError("--buildkit and --verify exclude one another: the engine's own API, by which it is "
                         "built, does not read BuildKit's syntax")
    _build(wish).parsed()


def _refuse_absent_wheel(wish: Wish) -> None:
    """Raise `InputError` for a wheel that the build would look for beside the Dockerfile in vain."""
    if wish.wheel is None or wish.output is None or wish.output == "-":
        return  # where standard output ends is not known
    beside = os.path.join(os.path.dirname(os.path.abspath(wish.output)), wish.wheel)
    there = Host().entry(beside)
    if not (isinstance(there, Entry) and there.kind is Kind.FILE):
        raise InputError(f"--gpudoctor {wish.wheel}: there is no such file beside the Dockerfile "
                         f"({printable(os.path.dirname(beside), 2000)}); nothing is written")


def _texts(chosen: Chosen, wanted: Wanted, wish: Wish, options: Options,
           database: RuleDatabase) -> Mapping[str, str]:
    """Return the files by where they go; "" is standard output."""
    folder = os.path.dirname(wish.output or "")
    texts = {wish.output or "": text_of(chosen, wanted.of_cards, options, database)}
    if wish.compose:
        texts[os.path.join(folder, COMPOSE)] = compose(chosen, wanted.of_cards, options, database)
    if wish.kubernetes:
        texts[os.path.join(folder, POD)] = kubernetes(chosen, wanted.of_cards, options, database)
    return texts


def _write(texts: Mapping[str, str], wish: Wish) -> None:
    """Write all files; none, where one of them is a folder or would replace something else."""
    for path, text in texts.items() if wish.output is not None else ():
        _refuse_other(path, text, force=wish.force)
    for path, text in texts.items():
        sources.write(text, path or None)
    beside = [path for path in texts if path != (wish.output or "")]
    if beside:
        sys.stderr.write(f"gpudoctor: wrote {printable(', '.join(texts), 4000)}\n")


def _refuse_other(path: str, text: str, *, force: bool) -> None:
    """Raise `InputError` for a folder, and for a file that holds something else than the text."""
    if path == "-":
        return
    there = Host().entry(os.path.abspath(path))
    if isinstance(there, Entry) and there.kind is Kind.FOLDER:
        raise InputError(f"{path}: cannot be written: it is a folder")
    if isinstance(there, Refused):
        raise InputError(f"{path}: cannot be written: {there.reason}")
    if force or isinstance(there, Missing) or (isinstance(there, Entry) and there.kind is not Kind.FILE):
        return  # a device or a pipe is not replaced, but written to
    old = Host().read_bytes(os.path.abspath(path), limit_bytes=_MOST_BYTES)
    if not isinstance(old, Data) or old.data != text.encode("utf-8", "backslashreplace"):
        raise InputError(f"{path}: is there already and holds something else; --force replaces it")


def _frameworks(chosen: Chosen) -> str:
    names = (chosen.candidate.framework, *(member.framework for member in chosen.candidate.beside))
    return " and ".join(names)


def _say_nothing_fits(nothing: Nothing, wish: Wish, interpreter: str | None) -> None:
    """Say on standard error why there is nothing to write, and what would help."""
    why = ("what was asked for could not be judged" if nothing.exit_code == EXIT_UNDECIDED else
           "nothing that these rules know fits")
    base = f" --base {wish.base}" if nothing.other_base else ""
    sys.stderr.write(f"gpudoctor: no Dockerfile is written: {why}{base}\n")
    if nothing.other_base:
        sys.stderr.write(f"gpudoctor: it fits --base {nothing.other_base}: "
                         f"{printable(_on_other_base(nothing.other_base), 4000)}\n")
    for unmet in nothing.unmet:
        sys.stderr.write(f"gpudoctor: {unmet.rule} {printable(unmet.message, 2000)}\n")
    if nothing.said is not None:
        sys.stderr.write(recommendation.render(
            nothing.said, width=showing.width(terminal=False), colour=False,
            check=again.of_host("check", interpreter, wish.recorded, wish.assume, wish.rules)))


def _on_other_base(base: BaseName) -> str:
    """Return the command that writes the same on another base: as it was typed, but for that."""
    typed = iter(sys.argv[2:])
    others = [word for word in typed
              if not word.startswith("--base=") and not (word == "--base" and next(typed, ""))]
    return shlex.join(["gpudoctor", "dockerfile", "--base", base, *others])
