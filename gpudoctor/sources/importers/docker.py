"""docker info and docker inspect: what runs the container, and the variables that it was given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model import rows_of
from gpudoctor.sources.fields import os as read_os
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank
from gpudoctor.variables import ENVIRONMENT_VARIABLES

_CUDA_IMAGE = re.compile(r"nvidia/cuda(?:-[a-z0-9]{3,8})?:([0-9]{1,2}\.[0-9](?:\.[0-9])?)-")
_TENSORFLOW_IMAGE = re.compile(r"tensorflow/tensorflow:([0-9]\.[0-9]{1,2}\.[0-9](?:rc[0-9]|-rc[0-9])?)")
_PYTORCH_IMAGE = re.compile(
    r"pytorch/pytorch:([0-9]\.[0-9]{1,2}(?:\.[0-9])?)-cuda([0-9]{1,2}\.[0-9])-cudnn([0-9]{1,2})")
_REGISTRY = "nvcr.io/nvidia/"
_NVIDIA_IMAGE = re.compile(
    r"nvcr\.io/nvidia/(pytorch|tensorflow|jax|paddlepaddle):([0-9]{2}\.[0-9]{2}-[a-z0-9.-]{0,40}[a-z0-9])")
_NVIDIA_FRAMEWORKS = {"pytorch": "torch", "tensorflow": "tensorflow", "jax": "jax", "paddlepaddle": "paddle"}
_INFO_LINES = 30
_VARIABLES = frozenset(ENVIRONMENT_VARIABLES)


def read(text: Text, found: Found) -> None:
    """Read docker info's lines, and the names of images that say which versions are in them."""
    for index in text.having("Default Runtime:"):
        found.mention("text.places", "docker", text.source(index))
        for below in range(index, min(index + _INFO_LINES, len(text.lines))):
            key, _, value = text.lines[below].strip().partition(": ")
            if key == "Architecture" and re.fullmatch(r"[a-z0-9_]{3,12}", value):
                found.say("system.architecture", value, text.source(below))
    for position in text.places("nvidia/cuda"):
        image = _CUDA_IMAGE.match(text.whole, position)
        if image:
            _image(text, found, position, "text.cuda", image[1])
    for position in text.places("tensorflow/tensorflow:"):
        image = _TENSORFLOW_IMAGE.match(text.whole, position)
        if image:
            version = image[1].replace("-rc", "rc")
            _image(text, found, position, "text.framework_version:tensorflow", version)
            found.say("text.framework", "tensorflow", text.source(text.index_at(position)), Rank.SHOWN)
    for position in text.places("pytorch/pytorch:"):
        image = _PYTORCH_IMAGE.match(text.whole, position)
        if image:
            _image(text, found, position, "text.framework_version:pytorch", image[1])
            source = text.source(text.index_at(position))
            found.framework("torch", "framework.cuda", image[2], source, Rank.SHOWN)
            found.say("text.framework", "pytorch", source, Rank.SHOWN)
    _of_nvidia(text, found)


def _of_nvidia(text: Text, found: Found) -> None:
    """Read the names of NVIDIA's own images: their framework, and what is in them as the tables have it."""
    listed = {(row["image"], row["tag"]): row for row in rows_of(found.tables, "container_images")}
    months = {row["release"]: row for row in rows_of(found.tables, "ngc_releases")}
    shared = {row["image"] for row in rows_of(found.tables, "ngc_images") if row["shares_release"]}
    for position in text.places(_REGISTRY):
        image = _NVIDIA_IMAGE.match(text.whole, position)
        if image is None:
            continue
        name, tag, source = image[1], image[2].removesuffix("-igpu"), text.source(text.index_at(position))
        distribution = _NVIDIA_FRAMEWORKS[name]
        found.say("text.framework", "pytorch" if name == "pytorch" else distribution, source, Rank.SHOWN)
        found.mention("text.places", "docker", source)
        of_month = months.get(tag[:5], {}) if f"{_REGISTRY}{name}" in shared else {}
        row = {**of_month, **listed.get((f"{_REGISTRY}{name}", tag), {})}
        for fact, column in (("framework.version", "framework"), ("framework.cuda", "cuda"),
                             ("framework.cudnn", "cudnn")):
            value = row.get(column)
            found.framework(distribution, fact, str(value) if value else None, source, Rank.SHOWN)


def _image(text: Text, found: Found, position: int, fact: str, version: str) -> None:
    source = text.source(text.index_at(position))
    found.say(fact, version, source, Rank.SHOWN)
    found.mention("text.places", "docker", source)


def from_document(document: Mapping[str, Any], source: str, found: Found) -> bool:
    """Read what docker info --format json or docker inspect prints; say whether it was one of them."""
    if "DefaultRuntime" in document and "ServerVersion" in document:
        found.mention("text.places", "docker", source)
        _say(found, "text.os", document.get("OperatingSystem"), source)
        _say(found, "system.kernel", document.get("KernelVersion"), source)
        _say(found, "system.architecture", document.get("Architecture"), source)
        return True
    host = document.get("HostConfig")
    if not isinstance(host, Mapping):
        return False
    found.mention("text.places", "docker", source)
    config = document.get("Config")
    variables = config.get("Env") if isinstance(config, Mapping) else None
    for variable in variables[:200] if isinstance(variables, list) else ():
        name, _, value = str(variable)[:4000].partition("=")
        if name in _VARIABLES:
            found.say(f"environment.{name}", value, source)
        elif name == "CUDA_VERSION" and re.fullmatch(r"[0-9]{1,2}\.[0-9]{1,2}(?:\.[0-9]{1,3})?", value):
            found.say("text.cuda", value, source)
        elif name == "NV_CUDNN_VERSION" and re.match(r"[0-9]{1,2}\.[0-9]", value):
            found.say("text.cudnn", value.partition("-")[0], source)
    return True


def _say(found: Found, fact: str, value: object, source: str) -> None:
    if isinstance(value, str) and 0 < len(value) < 200:
        if fact == "text.os":
            read_os(found, value, source, Rank.REPORTED)
        else:
            found.say(fact, value, source)
