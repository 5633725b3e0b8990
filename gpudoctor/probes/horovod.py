"""Read what Horovod's extensions hold for a framework."""

from __future__ import annotations

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes.calls import mapping, objects
from gpudoctor.probes.python import text
from gpudoctor.probes.shapes import Data, record, texts


def read(framework: Data) -> Fact:
    """Return the extensions, none of them where Horovod was compiled without this framework."""
    if "horovod" not in framework:
        return Unknown(reason="Horovod was not looked for", asked=False)
    if framework["horovod"] is None:
        return Absent(source="no package horovod on sys.path, or none that serves this framework")
    answer = mapping(framework["horovod"])
    folder = text(answer.get("folder"))
    if folder is None or not isinstance(answer.get("extensions"), list):
        return Unknown(reason=f"Horovod: {text(answer.get('error')) or 'was not described'}")
    records = []
    for extension in objects(answer["extensions"]):
        gpu, nccl, path = extension.get("gpu"), extension.get("nccl"), text(extension.get("path"))
        if not isinstance(gpu, bool) or not isinstance(nccl, bool):
            return Unknown(reason=f"{path}: {text(extension.get('error')) or 'was not read'}")
        runtime = next(iter(texts(extension.get("runtimes"))), None)
        records.append(record(path=path, gpu=gpu, nccl=nccl, runtime=runtime))
    return Known(value=tuple(records), source=folder)
