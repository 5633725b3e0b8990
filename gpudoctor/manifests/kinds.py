"""Which kind of file one is, by its name and what stands in it; each kind becomes environments."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gpudoctor.manifests import (
    conda, constraints, locks, pixi_lock, pyproject, requirements, services, stages, yaml_files,
)
from gpudoctor.manifests.requirements import Reader
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Build, Environment, Wish

__all__ = ["Reader", "environments"]

DOCKERFILE = re.compile(
    r"(?:.*[._-])?(?:dockerfile|containerfile)\Z|(?:dockerfile|containerfile)[._-].*\Z", re.IGNORECASE)
# comments, ARG and then FROM: what a Dockerfile begins with, however it is called
_FROM = re.compile(r"\ufeff?(?:[ \t]*(?:#[^\n]*|ARG[ \t][^\n]*)?\r?\n)*[ \t]*FROM[ \t]+"
                   r"(?:--platform=\S+[ \t]+)?[\w./:@${}-]+[ \t]*"
                   r"(?:AS[ \t]+\S+[ \t]*)?(?:\r?\n|\Z)", re.IGNORECASE)
# a name that says that it is for a GPU; services of one compose file are not all for one
_FOR_GPU = re.compile(
    r"(?<!no)(?<!non)[._-](?:gpu|cuda|cu1[0-9][0-9]?)[0-9.]*(?=[._-]|\Z)|\A(?:gpu|cuda)[._-]", re.IGNORECASE)
# an action of a template of Helm or Jinja; what stands in quotes may be filled in when it is used
_TEMPLATE = re.compile(r"(?m)^[^\n\"'#]*(?:\{\{|\{%)")
# likewise in the image of a FROM, whatever stands around it
_TEMPLATE_OF_IMAGE = re.compile(r"(?im)^[ \t]*FROM[ \t][^\n]*?(\{\{|\{%)")
_OF_SERVICES = ("compose", "docker-compose")
_LISTS = (".txt", ".in")
_YAML = (".yaml", ".yml")
_OTHERS = (*_YAML, ".sh", ".md", ".toml", ".dockerignore")
_KNOWN = ("a Dockerfile, requirements*.txt, constraints*.txt, pyproject.toml, pixi.toml, Pipfile, a lock of "
          "uv, poetry, pdm, pipenv or pixi, or YAML of compose, conda or Kubernetes")


def environments(source: Source, reader: Reader, build: Build | None = None) -> list[Environment]:
    """Return what a file describes; raise `ManifestError` where it is of no known kind, or is broken."""
    name = posixpath.basename(source.file)
    found = _of_kind(name, source, reader, build)
    if not _FOR_GPU.search(name) or name.startswith(_OF_SERVICES):
        return found
    sign = Wish(why=f"the file is called {name}", place=source.place(0))
    return [replace(one, wishes=(*one.wishes, sign)) for one in found]


def _of_kind(name: str, source: Source, reader: Reader, build: Build | None) -> list[Environment]:
    try:
        return _of_name(name, source, reader, build)
    except ManifestError:
        template = None if name.endswith(_OTHERS) else _TEMPLATE_OF_IMAGE.search(source.text)
        if template is None:
            raise
        raise source.error(template.start(1), "the name of the image is a template, which nobody can read "
                                              "before something fills it in: lint what that prints") from None


def _of_name(name: str, source: Source, reader: Reader, build: Build | None) -> list[Environment]:
    if DOCKERFILE.match(name) and not name.endswith(_OTHERS):
        return stages.environments(source, reader, build)
    if name.endswith(_LISTS):
        listed = requirements.read(source, reader)
        return [Environment(name=name, place=source.place(0), in_container=False, asked=listed.asked,
                            unread=listed.unread,
                            constrains=constraints.is_constraints(source.file, source.text))]
    if name == pixi_lock.NAME:
        return pixi_lock.environments(source)
    if locks.LOCKS.fullmatch(name):
        return [locks.of_lock(source)]
    if name.endswith(".toml") or name == "Pipfile":
        return pyproject.of_pyproject(source)
    if name.endswith(_YAML):
        return _of_yaml(source, reader, build)
    if _FROM.match(source.text):
        return stages.environments(source, reader, build)
    raise ManifestError(source.file, f"which kind of file is it? Its name is not that of {_KNOWN}, and it "
                        "does not begin with FROM")


def _of_yaml(source: Source, reader: Reader, build: Build | None) -> list[Environment]:
    try:
        return _of_documents(source, reader, build)
    except ManifestError:
        template = _TEMPLATE.search(source.text)
        if template is None:
            raise
        raise source.error(template.end() - 2, "is a template, and no YAML before it is filled in: lint what "
                                             "`helm template` (or what else fills it in) prints") from None


def _of_documents(source: Source, reader: Reader, build: Build | None) -> list[Environment]:
    found: list[Environment] = []
    is_known = False
    documents = yaml_files.documents(source)
    for document in documents:
        if document.get("services") is not None or document.get("include") is not None:
            found += services.of_compose(document, source, reader, build)
        elif document.get("dependencies") is not None:
            found.append(conda.of_conda(document, source, reader))
        elif document.get("kind") is not None:
            found += services.of_kubernetes(document, documents, source)
        elif document.get("package") is not None and document.get("metadata") is not None:
            raise ManifestError(source.file, "a lock of conda-lock is not read: lint the environment.yml "
                                "that it was made of")
        else:
            continue
        is_known = True
    if not is_known:
        raise ManifestError(source.file, "which kind of file is it? It has neither services nor "
                            "include (compose), dependencies (conda) nor a kind (Kubernetes)")
    return found
