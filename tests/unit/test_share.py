"""What is private becomes a stand-in, the same one everywhere."""

from __future__ import annotations

from gpudoctor.model import Absent, Fact, Known, ProbeRun, Snapshot, Unknown
from gpudoctor.share import share


def shared(name: str, value: object, **more: Fact) -> Fact:
    """Return a fact of the host as it is shared."""
    assert isinstance(value, str | int | tuple)
    return share(Snapshot(host={name: Known(value=value, source="x"), **more})).host[name]


def test_folders_of_a_user_become_stand_ins() -> None:
    """What every Linux has stays readable, what somebody named does not."""
    fact = shared("python.executable", "/home/alice/my project/venv/bin/python3.11")
    assert isinstance(fact, Known)
    assert "alice" not in str(fact.value)
    assert str(fact.value).startswith("/home/")
    assert shared("loader.default_folders", ("/usr/lib/x86_64-linux-gnu", "/lib64")) == Known(
        value=("/usr/lib/x86_64-linux-gnu", "/lib64"), source="x"
    )


def test_same_folder_same_stand_in() -> None:
    """Two facts that named one folder still name one, and different ones stay different."""
    host = share(
        Snapshot(
            host={
                "python.prefix": Known(value="/home/alice/venv", source="/home/alice/venv/pyvenv.cfg"),
                "python.executable": Known(value="/home/alice/venv/bin/python", source="x"),
                "environment.LD_LIBRARY_PATH": Known(value="/home/bob/lib:/home/alice/lib", source="x"),
            }
        )
    ).host
    prefix, executable, path = (
        host[name] for name in ("python.prefix", "python.executable", "environment.LD_LIBRARY_PATH")
    )
    assert isinstance(prefix, Known)
    assert isinstance(executable, Known)
    assert isinstance(path, Known)
    assert str(executable.value) == f"{prefix.value}/bin/python"
    assert prefix.source == f"{prefix.value}/pyvenv.cfg".replace(
        "pyvenv.cfg", prefix.source.rpartition("/")[2]
    )
    first, second = str(path.value).split(":")
    assert first != second
    assert second.startswith(str(prefix.value).rpartition("/")[0])


def test_values_that_may_hold_anything_are_gone() -> None:
    """Flags of a framework may hold a token; which cards are visible is what a diagnosis needs."""
    assert shared("environment.XLA_FLAGS", "--token=abc") == Known(value="[redacted]", source="x")
    assert shared("environment.CUDA_VISIBLE_DEVICES", "0,1") == Known(value="0,1", source="x")
    assert shared("system.user_id", 0) == Known(value=0, source="x")
    assert shared("system.user_id", 4711) == Known(value=1000, source="x")


def test_reasons_and_sources_are_cleaned_too() -> None:
    """A path or a UUID in the reason of not knowing says as much as one in a value."""
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    snapshot = Snapshot(
        host={
            "python.prefix": Unknown(reason="/home/alice/venv: Permission denied"),
            "python.abi": Absent(source="/home/alice/venv"),
        },
        gpus=({"gpu.uuid": Known(value=uuid, source=f"NVML of {uuid}")},),
        frameworks=Unknown(reason="/home/alice is gone"),
        probes=(ProbeRun(probe="python", outcome="exit", seconds=1.0, detail="/home/alice/x.py: no"),),
    )
    text = repr(share(snapshot))
    assert "alice" not in text
    assert "89ab" not in text


def test_sharing_keeps_kinds_of_facts() -> None:
    """Known stays known, absent absent, unknown unknown."""
    host: dict[str, Fact] = {
        "python.prefix": Absent(source="x"),
        "python.abi": Unknown(reason="y", asked=False),
    }
    assert share(Snapshot(host=host)).host == host
