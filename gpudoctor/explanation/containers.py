"""How containers were started: each command, and each file of Compose, as the engine reads it.

A request for a GPU in one command says nothing of the next: people try NVIDIA's image first, and start their
own without it. What is found becomes a line of its own, which symptoms may name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.frozen import frozen
from gpudoctor.lazily import Pattern

WITH, WITHOUT = "container started with a GPU", "container started without a GPU"
ALWAYS = "every container of the text is started with a GPU"
_COMMAND = Pattern(r"(?P<quoted>`?)(?:sudo )?(?<![\w/.-])(?P<engine>nvidia-docker|docker|podman|nerdctl)"
                   r" (?:container )?(?:run|create) (?P<words>.*)")
_ENDS = Pattern(r" (?:&&|\|\|?|;) ")
_NO_VALUE = Pattern(r"-[itdPq]{1,4}|--(?:rm|init|detach|interactive|tty|privileged|publish-all|read-only|"
                    r"no-healthcheck|quiet|replace|rmi|disable-content-trust)|--[\w-]+=.*|-[a-zA-Z]\S+")
_ASKS = Pattern(r"--gpus?\b|--runtime[= ]\S{0,60}nvidia|--device[= ]\S{0,60}nvidia")
# Without the option these may hand cards in, or not: it depends on the engine's default runtime.
_MAY_ASK = Pattern(r"NVIDIA_VISIBLE_DEVICES=|--privileged\b|--hooks-dir|--annotation")
_HIDES = Pattern(r"NVIDIA_VISIBLE_DEVICES=['\"]?(?:void|none)\b")
_COMPOSE_ASKS = Pattern(r"(?:driver|runtime): ?['\"]?nvidia|capabilities:|gpus:|nvidia\.com/gpu|"
                        r"/dev/nvidia|NVIDIA_VISIBLE_DEVICES|privileged: ?true")
_TRIALS = frozenset({"hello-world"})  # images that only try the engine
_OF_DRIVERS = "nvidia/cuda"  # an image that people try the driver with, and run nothing of their own in
_MOST, _MOST_LINES, _LONGEST = 40, 60, 2000


@frozen
class Start:
    """A container that a text starts: its image, whether a GPU is asked for (None: it depends), its line."""

    image: str
    asks: bool | None
    line: int


def started(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each start with a GPU, and for each without where no other gives its image one.

    One more says that all have one, where an image of somebody's own is among them.
    """
    starts = [*_commands(lines), *_compose(lines)]
    given = {start.image for start in starts if start.asks}
    for start in starts:
        if start.asks:
            yield Answered(text=f"{WITH}: {start.image}", line=start.line)
        elif start.asks is False and start.image not in given:
            yield Answered(text=f"{WITHOUT}: {start.image}", line=start.line)
    own = [start for start in starts if _OF_DRIVERS not in start.image]
    if own and all(start.asks for start in starts):
        yield Answered(text=ALWAYS, line=own[0].line)


def _commands(lines: Sequence[str]) -> Iterator[Start]:
    found = 0
    for number, line in enumerate(lines, start=1):
        if " run " not in line and " create " not in line:
            continue
        command = _COMMAND.search(_whole(lines, number - 1))
        if command is None:
            continue
        words = _ENDS.split(command["words"], maxsplit=1)[0]
        if command["quoted"]:
            words = words.partition("`")[0]
        image = _image(words.split())
        if image and image not in _TRIALS:
            found += 1
            yield Start(image=image, asks=_asks(command["engine"], words), line=number)
        if found == _MOST:
            return


def _whole(lines: Sequence[str], index: int) -> str:
    """Return a command with the lines that it goes on in, each behind a backslash."""
    parts = []
    for line in lines[index:index + _MOST_LINES]:
        stripped = line.strip()
        parts.append(stripped.rstrip("\\").strip())
        if not stripped.endswith("\\"):
            break
    return " ".join(parts)[:_LONGEST]


def _asks(engine: str, words: str) -> bool | None:
    if engine == "nvidia-docker" or _ASKS.search(words):
        return True
    if _HIDES.search(words):
        return False
    return None if _MAY_ASK.search(words) else False


def _image(words: Sequence[str]) -> str:
    """Return the first word that is neither an option nor the value of one."""
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = not _NO_VALUE.fullmatch(word)
        else:
            return word.strip("`'\".,)")
    return ""


def _compose(lines: Sequence[str]) -> Iterator[Start]:
    """Yield the services of a file of Compose together: which of them is meant, nobody says."""
    for index, line in enumerate(lines):
        if line.strip() != "services:":
            continue
        depth = len(line) - len(line.lstrip())
        below = []
        for other in lines[index + 1:index + 1 + 4 * _MOST_LINES]:
            if other.strip() and len(other) - len(other.lstrip()) <= depth:
                break
            below.append(other)
        if any(other.lstrip().startswith(("image:", "build:")) for other in below):
            asks = any(_COMPOSE_ASKS.search(other[:_LONGEST]) for other in below)
            yield Start(image="services of Compose", asks=asks, line=index + 1)
            return
