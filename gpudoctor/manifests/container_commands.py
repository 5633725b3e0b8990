"""What compose files and pods start in place of an image's own command, and what that installs each time.

https://docs.docker.com/reference/compose-file/services/ and
https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudoctor.manifests.context import Context
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.runs import Runs
from gpudoctor.manifests.shellwords import Command, words_of
from gpudoctor.manifests.spans import Source, Traced, Word
from gpudoctor.manifests.stage import Stage, start_order
from gpudoctor.manifests.statements import Build, Environment, Started
from gpudoctor.manifests.yaml_files import Node

Starts = Mapping[str, Started]
Sources = Mapping[str, Source]  # files by their names
_NONE = ("", "~", "null")  # the image's own is started


def of_service(service: Node, sources: Sources) -> Starts:
    """Return what a service of compose starts; its own entrypoint also takes the image's command away."""
    found = _starts({"ENTRYPOINT": service.get("entrypoint"), "CMD": service.get("command")}, sources)
    entry = found.get("ENTRYPOINT")
    return found if entry is None else {"CMD": Started(commands=(), source=entry.source), **found}


def of_container(container: Node, source: Source) -> Starts:
    """Return what a container of a pod starts."""
    return _starts({"ENTRYPOINT": container.get("command"), "CMD": container.get("args")},
                   {source.file: source})


def _starts(nodes: Mapping[str, Node | None], sources: Sources) -> Starts:
    return {name: Started(commands=(Command(words=words),) if (words := tuple(_words(node))) else (),
                          source=sources[node.place.file])
            for name, node in nodes.items() if node is not None and node.text not in _NONE}


def _words(node: Node) -> Iterator[Word]:
    if node.text is not None:  # compose cuts it as a shell does, and no shell runs it
        is_as_written = node.whole and "$$" not in node.text
        at = range(node.place.start, node.place.end) if is_as_written else [node.place.start] * len(node.text)
        yield from words_of(Traced(text=node.text.replace("$$", "\\$"), at=at), {})
        return
    for one in node.texts():
        text = (one.text or "").replace("$$", "$")
        is_script = any(character.isspace() for character in text)  # whose variables its shell fills in
        yield Word(text=text, start=one.place.start, end=one.place.end, known=is_script or "$" not in text)


def added(environment: Environment, starts: Starts, source: Source, reader: Reader) -> Environment:
    """Return a container of a ready image with what its command installs."""
    if not starts:
        return environment
    stage = Stage(environment.name, environment.image, environment.place, None)
    stage.variables = {name: setting.value for name, setting in environment.settings.items()}
    runs = Runs(source, Context(source, Build(), reader))
    for started in start_order(starts):
        runs.of(started.source).start(started.commands, stage, in_shell=False)
    found = stage.environment(environment.wishes, environment.images)
    return replace(environment, asked=found.asked, lost=tuple(runs.lost), python=found.python,
                   python_place=found.python_place, unread=(*environment.unread, *found.unread),
                   alters_python=found.alters_python, alters_libraries=found.alters_libraries,
                   brought=found.brought)
