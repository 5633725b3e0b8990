"""What to do next where nothing is known to fit: without NVIDIA's card, on a board with its own builds, with
cards of which no release serves all, or that only a build from elsewhere serves.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.candidates.ground import WINDOWS, Ground, usable_capabilities, version_of, with_facts
from gpudoctor.candidates.images import Images, is_in_an_image, newest_that_fits
from gpudoctor.candidates.judging import Judge, faults
from gpudoctor.candidates.wishes import Wish
from gpudoctor.derive import other_builds
from gpudoctor.derive.branches import is_left_out
from gpudoctor.derive.stacks import Stack, stacks_of
from gpudoctor.derive.view import as_texts
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Hint, Known, Scope, Subject, Tables, rows_of

_ON_CPU = {"paddle": "paddlepaddle"}  # the distribution that pip has, where it is called otherwise
_OF_BOARD, _OF_PROCESSOR = "jetson-wrong-wheel", "wheel-arch-linux-aarch64"  # the pages
# By UUID, as the numbers of CUDA and of nvidia-smi differ; which one it is, is private.
_SHOWN_ALONE = "CUDA_VISIBLE_DEVICES with the UUID that nvidia-smi -L lists shows a program no other card"
_CARD = "RTX 5090"  # as `check --help` writes it
_LINUX = ("system.os=Linux", "system.architecture=x86_64", "system.distribution=ubuntu",
          "system.distribution_version=24.04")


def hints(wishes: Sequence[Wish], base: Ground, options: str = "") -> Iterator[Hint]:
    """Yield the next steps for what is wished for; nothing where cards are there, or could not be listed.

    `options` are those with which was asked, and belong to whatever is asked next.
    """
    names = [wish.framework for wish in wishes]
    if not base.takes_server_wheels:
        yield Hint(words="Where NVIDIA has them, and what does not work there:",
                   command=f"gpudoctor explain {_OF_BOARD}")
        return
    if base.snapshot.gpus != ():
        return
    wanted = _asked_for(wishes)
    driver = _newest_driver(base.database.tables)
    yield Hint(words="What fits a machine that has a card:",
               command=f"gpudoctor recommend{wanted}{options}{_on_linux(base)}"
                       f' --assume card="{_CARD}"'
                       f"{f' --assume driver={driver}' if driver else ''}")
    on_cpu = [_ON_CPU.get(wish.framework, wish.framework) + ",".join(wish.bounds) for wish in wishes]
    yield Hint(words=f"On the CPU {', '.join(on_cpu)} {'run' if len(names) > 1 else 'runs'} as pip brings "
                     f"{'them' if len(names) > 1 else 'it'}:",
               command=f"pip install {shlex.join(on_cpu if wanted else on_cpu[:1])}")
    yield from _of_amd(names, base)


def _asked_for(wishes: Sequence[Wish]) -> str:
    """Return the options that ask for it; "" for all frameworks, which are no set that must live together."""
    is_of_all = {wish.framework for wish in wishes} == set(FRAMEWORKS) and not any(w.bounds for w in wishes)
    return "" if is_of_all else "".join(f" --framework {shlex.quote(wish.text)}" for wish in wishes)


def _on_linux(base: Ground) -> str:
    """Return the assumptions by which another system is asked of as a Linux; "" where it is one."""
    return "" if base.platform.startswith("linux") else "".join(f" --assume {word}" for word in _LINUX)


def inside_wsl(wishes: Sequence[Wish], base: Ground, options: str = "") -> Iterator[Hint]:
    """Yield on Windows what has newer releases with CUDA for Linux alone: WSL 2 has that, and its driver."""
    if not base.platform.startswith(WINDOWS) or base.driver is None or not usable_capabilities(base):
        return
    tables, linux = base.database.tables, base.platform.replace(WINDOWS, "linux")
    later = [wish.text for wish in wishes if versions.parse(_newest(wish, linux, tables))
             > versions.parse(_newest(wish, base.platform, tables))]
    if later:
        cards = "".join(f" --assume cc={card}" for card in usable_capabilities(base))
        yield Hint(words=f"Of {', '.join(later)} these rules know newer builds with CUDA for Linux, which "
                         "WSL 2 is, with this driver of Windows. What fits there:",
                   command=f"gpudoctor recommend{_asked_for(wishes)}{options}{_on_linux(base)}"
                           f" --assume system.wsl=2{cards} --assume driver={base.driver}")


def _newest(wish: Wish, platform: str, tables: Tables) -> str:
    """Return the newest release that is wished for and has a build with CUDA, 0 where none has."""
    return next((stack.version for stack in stacks_of(wish.framework, platform, tables)
                 if wish.admits(stack)), "0")


def without_image(wishes: Sequence[Wish], base: Ground) -> Iterator[Hint]:
    """Yield for what no image is known at all, on whatever machine."""
    yield from (Hint(words=f"These rules know no image with {wish.text}.") for wish in wishes
                if not is_in_an_image(wish, base.database.tables))


def _ready_for(base: Ground) -> tuple[str, tuple[str, ...]]:
    """Return the CUDA that the driver runs, "" where no build would run here, and what usable cards are."""
    here = tuple(dict.fromkeys(usable_capabilities(base)))
    ceiling = version_of(base.fact("driver.cuda_ceiling"))
    return ("" if ceiling is None or not here or any(faults(base)) else ceiling), here


def of_conda(wishes: Sequence[Wish], base: Ground) -> Iterator[Hint]:
    """Yield conda-forge's builds for cards that nothing of pip's serves, where the driver runs them."""
    ceiling, here = _ready_for(base)
    for wish in wishes if ceiling else ():
        for row in other_builds.of_conda(wish.framework, base.platform, ceiling, here, base.database.tables):
            if not wish.bounds or versions.meets(str(row["version"]), wish.bounds):
                yield Hint(words=f"conda-forge has {wish.framework} {row['version']} for CUDA {row['cuda']} "
                                 f"with code that serves compute capability {', '.join(here)}, by its recipe "
                                 "(not tried):",
                           command=f"conda create -n {wish.framework} -c conda-forge '{row['package']}'")


def of_own_index(wishes: Sequence[Wish], base: Ground) -> Iterator[Hint]:
    """Yield builds on a framework's own index that were not read, where the driver may run them."""
    ceiling, here = _ready_for(base)
    for wish in wishes if ceiling else ():
        row = other_builds.newest_on_own_index(
            wish.framework, base.platform, ceiling, here, base.database.tables)
        if row is not None and (not wish.bounds or versions.meets(str(row["version"]), wish.bounds)):
            name = f"{row['distribution']}=={row['version']}"
            yield Hint(words=f"{name} for CUDA {row['cuda']} was not read: whether it serves compute "
                             f"capability {', '.join(here)}, and which Python, is not known:",
                       command=f"pip install {name} --index-url {row['index']}")


def of_processor(wishes: Sequence[Wish], base: Ground) -> Iterator[Hint]:
    """Yield where it is written what there is for a processor of which a framework has no build with CUDA."""
    without = [wish.framework for wish in wishes if base.platform.startswith("linux")
               and not stacks_of(wish.framework, base.platform, base.database.tables)]
    if without and base.takes_server_wheels and usable_capabilities(base):
        yield Hint(words=f"What else there is with {' and '.join(without)} for this processor:",
                   command=f"gpudoctor explain {_OF_PROCESSOR}")


def with_own_python(wishes: Sequence[Wish], python: str, base: Ground) -> Iterator[Hint]:
    """Yield that an image would do if its Python may be another than the one that was named."""
    for wish in wishes:
        found = newest_that_fits(Images(wish=wish), Judge(base), ())
        if found is not None:
            yield Hint(words=f"The image {found[0]} fits; it brings its own Python, which is not known to be "
                             f"{python}:", command=f"docker run --rm -it --gpus all {found[0]}")


def for_one_card(wishes: Sequence[Wish], stacks: Mapping[str, Sequence[Stack]],
                 base: Ground) -> Iterator[Hint]:
    """Yield what fits each kind of card where the others are hidden; nothing where all cards are of one."""
    kinds: dict[str, list[Subject]] = {}
    for card in base.subjects[Scope.GPU]:
        capability = version_of(card.fact("gpu.compute_capability"))
        if capability is not None and not is_left_out(card.facts):
            kinds.setdefault(capability, []).append(card)
    if len(kinds) < 2 or base.driver is None:
        return
    wanted = " ".join(f"--framework {shlex.quote(wish.text)}" for wish in wishes)
    for capability, cards in kinds.items():
        alone = {"cc": capability, "driver": base.driver}
        judge = Judge(with_facts(base, {name: Known(value=value, source="one kind of card")
                                        for name, value in alone.items()}))
        newest = [f"{name} {found.version}" for name, some in stacks.items()
                  if (found := next((one for one in some if judge.fits(one)), None)) is not None]
        if newest:
            yield Hint(words=f"{' and '.join(card.name for card in cards)} alone (compute capability "
                             f"{capability}) can have {' and '.join(newest)}, in an environment of its own; "
                             f"{_SHOWN_ALONE}. What to install there:",
                       command=f"gpudoctor recommend --python {base.place.python} {wanted} "
                               + " ".join(f"--assume {name}={value}" for name, value in alone.items()))


def _newest_driver(tables: Tables) -> str | None:
    """Return the first release of the newest branch that is maintained."""
    known = [str(row["first_release"]) for row in rows_of(tables, "driver_lifecycle")
             if row["maintained"] is True]
    return max(known, key=versions.parse, default=None)


def _of_amd(names: Sequence[str], base: Ground) -> Iterator[Hint]:
    """Yield what AMD lists for the newest ROCm that the tables know, where there is a card of AMD."""
    others, table = base.fact("system.other_accelerators"), base.database.tables.get("rocm")
    if table is None or not (isinstance(others, Known) and "amd" in as_texts(others.value)):
        return
    row = max(table.rows, key=lambda one: versions.parse(str(one["rocm"])))
    listed = {name: as_texts(row[name]) or (str(row[name]),) for name in names if name in row}
    builds = "; ".join(f"{name} {', '.join(some)}" for name, some in listed.items()) or "none of these"
    cards = ", ".join(as_texts(row["cards"]))
    yield Hint(words="For AMD's cards there are builds for ROCm. The newest matrix of AMD's that these "
                     f"rules know (ROCm {row['rocm']}) lists {builds}, on {cards}; which wheels "
                     "these are is in no table here, and gpudoctor does not examine AMD's cards.")
