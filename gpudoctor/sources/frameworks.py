"""Names of frameworks as people, packages and programs write them."""

from __future__ import annotations

import re

from gpudoctor.sources.values import VALUE_CHARACTERS, package_version_in

# What text.frameworks calls it -> how it is written; longer spellings first, all in lower case.
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "tensorflow": ("tensorflow-gpu", "tensorflow_gpu", "tensorflow-cpu", "tf-nightly-gpu", "tf-nightly",
                   "tf_nightly", "tensorflow serving", "nvidia-tensorflow", "libtensorflow-gpu",
                   "libtensorflow-cpu", "libtensorflow", "tensorflow", "tf-gpu", "tf"),
    "pytorch": ("pytorch", "torch", "libtorch"),
    "jax": ("jaxlib", "jax"),
    "paddle": ("paddlepaddle-gpu", "paddlepaddle", "paddle"),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime", "onnx runtime"),
    "ctranslate2": ("ctranslate2", "faster-whisper", "faster_whisper"),
    "keras": ("keras",), "cupy": ("cupy",), "numba": ("numba",), "caffe2": ("caffe2",), "caffe": ("caffe",),
    "vllm": ("vllm",), "bitsandbytes": ("bitsandbytes",), "mxnet": ("mxnet",), "pycuda": ("pycuda",),
    "cuml": ("cuml",), "triton": ("triton",), "theano": ("theano",), "jittor": ("jittor",),
    "tfjs": ("tfjs-node", "tfjs"),
}
SPELLINGS = tuple(sorted(((written, name) for name, ways in _SPELLINGS.items() for written in ways),
                         key=lambda pair: -len(pair[0])))
# -> framework.name
CATALOGUED = {"tensorflow": "tensorflow", "pytorch": "torch", "jax": "jax", "paddle": "paddle"}
STATED_NAME = {own: stated for stated, own in CATALOGUED.items()}
_DESCRIBED = re.compile(r"v?[0-9][0-9.]{0,12}(?:-rc[0-9]{1,2})?-[0-9]{1,6}-g[0-9a-f]{4,40}")
_SCOPE = "@"  # npm's: @tensorflow/tfjs-node-gpu
# "(sleap 1.3.2, conda)": the version of what asks for the framework; "(v2.3)" and "(gpu 2.3)" are its own
_OF_ANOTHER = re.compile(
    r"\((?!version|release|stable|nightly|gpu|cpu|v ?[0-9])[a-z][a-z0-9_-]{1,30} v?[0-9][^)]{0,60}\)?",
    re.IGNORECASE)
# "the image of May 2022", "built for CUDA 12.2"
_NO_RELEASE = re.compile(
    r"(?<![\w.-])(?:19|20)[0-9]{2}(?![\w.-])|\bcuda[ -]?v?(?:[5-9]|1[0-9])(?:\.[0-9]+){0,2}\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\bcu([0-9]{3})\b")


def framework_in(words: str) -> tuple[str, str] | None:
    """Return the framework that is named first, and the words after its name."""
    folded = words[:VALUE_CHARACTERS].lower()
    best: tuple[int, int, str] | None = None
    for written, name in SPELLINGS:
        position = folded.find(written)
        if position < 0 or (best is not None and position >= best[0]):
            continue
        end = position + len(written)
        before = folded[position - 1:position]
        if not before.isalnum() and before != _SCOPE and not folded[end:end + 1].isalpha():
            best = position, end, name
    return (best[2], words[best[1]:VALUE_CHARACTERS]) if best is not None else None


def version_of(words: str) -> str | None:
    """Return a framework's version; of what git describes and a version, the version."""
    own = _NO_RELEASE.sub(" ", _OF_ANOTHER.sub(" ", words[:VALUE_CHARACTERS]))
    return package_version_in(_DESCRIBED.sub(" ", own)) or package_version_in(own.partition("-")[0])


def cuda_suffix(words: str) -> str | None:
    """Return 12.8 of "cu128"."""
    found = _SUFFIX.search(words[:VALUE_CHARACTERS].lower())
    return f"{found[1][:-1]}.{found[1][-1]}" if found else None
