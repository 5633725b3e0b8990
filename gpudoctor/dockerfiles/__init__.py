"""The Dockerfile for a machine: what `recommend` offers to a container on it, written out. Pure."""

from gpudoctor.dockerfiles.beside import compose, kubernetes
from gpudoctor.dockerfiles.choice import BaseName, Chosen, Nothing, Wanted, checked, choose
from gpudoctor.dockerfiles.content import Options, dockerfile, has_preflight, image_name
from gpudoctor.dockerfiles.lines import UnwritableError

__all__ = ["BaseName", "Chosen", "Nothing", "Options", "UnwritableError", "Wanted", "checked", "choose",
           "compose", "dockerfile", "has_preflight", "image_name", "kubernetes"]
