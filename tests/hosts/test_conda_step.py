"""The step that conda is given: a solver takes it, and the environment has the CUDA build afterwards.

No channel can be reached from here. PyPI's newest conda (4.3.16) does not install, npm's is a library that
calls one, and Debian packages neither conda nor mamba nor micromamba. So pypi:py-rattler solves and installs
what the step says, out of a channel that the test writes: names and build strings as conda-forge's, without
contents. What the true builds then do is not tried.
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

from gpudoctor import remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Fact, Known
from tests.harness.installed import installed
from tests.hosts.test_written_conda import RATTLER

BUILDS = (  # name, version, build string, what it depends on: all builds of CUDA ask for a driver
    ("pytorch", "2.10.0", "cpu_generic_py312_h4444444_3", ()),
    ("pytorch", "2.10.0", "cuda126_generic_py312_h1_203", ("__cuda",)),
    ("pytorch", "2.11.0", "cpu_generic_py312_h4444444_0", ()),
    ("tensorflow", "2.18.0", "cpu_py312h1_0", ()),
    ("tensorflow", "2.18.0", "cuda126py312h1_200", ("__cuda",)),
    ("tensorflow", "2.19.0", "cpu_py312h1_0", ()))
SOLVE = """
import asyncio, os, sys
from pathlib import Path
from rattler import Channel, GenericVirtualPackage, MatchSpec, PackageName, PrefixRecord, Version
from rattler import install, solve
from rattler.package.build_string import BuildString
from rattler.index import index_fs
channel, prefix = map(Path, sys.argv[1:3])
specs = [MatchSpec(text) for text in sys.argv[3:-1]]  # as conda reads them; its own strict form has no =*=
cuda = GenericVirtualPackage(PackageName("__cuda"), Version("13.0"), BuildString("0"))
driver = [cuda] if sys.argv[-1] == "driver" else []

async def main():
    await index_fs(channel)
    there = [PrefixRecord.from_path(path) for path in (prefix / "conda-meta").glob("*.json")]
    found = await solve([Channel(channel.as_uri())], specs, platforms=["linux-64", "noarch"],
                        locked_packages=there, virtual_packages=driver)
    await install(found, prefix, installed_packages=there, show_progress=False, cache_dir=channel / "cache")

asyncio.run(main())
os._exit(0)  # its threads outlive Python's end, where one run in five crashed
"""


def write_channel(folder: Path) -> None:
    """Write packages that hold one file, named as the build, and nothing else."""
    (folder / "linux-64").mkdir(parents=True)
    (folder / "noarch").mkdir()
    for name, version, build, depends in BUILDS:
        held = f"{name} {build}".encode()
        paths = {"paths_version": 1, "paths": [
            {"_path": f"share/{name}", "path_type": "hardlink", "size_in_bytes": len(held)}]}
        about = {"name": name, "version": version, "build": build, "depends": list(depends),
                 "subdir": "linux-64", "build_number": int(build.rpartition("_")[2])}
        with tarfile.open(folder / "linux-64" / f"{name}-{version}-{build}.tar.bz2", "w:bz2") as archive:
            for path, text in (("info/index.json", json.dumps(about).encode()), (f"share/{name}", held),
                               ("info/paths.json", json.dumps(paths).encode()),
                               ("info/files", f"share/{name}\n".encode())):
                member = tarfile.TarInfo(path)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))


def step(release: str, prefix: Path) -> list[str]:
    """Return the words of the step for an environment into which conda took the build for the CPU."""
    database = ruledb.load(None, None)
    facts: dict[str, Fact] = {name: Known(value=value, source="test") for name, value in {
        "cc": "9.0", "driver": "580.95.05", "release": release, "framework.build": "cpu",
        "framework.installer": "conda", "python.environment": "conda", "python.prefix": str(prefix)}.items()}
    found = remedy.diagnose(lay(database.base, facts, database.tables, source="test"), database)
    [finding] = [one for one in found.findings if one.cause == "conda-resolved-cpu-build"]
    [command] = finding.fixes[0].commands
    return shlex.split(command)


def run(python: Path, channel: Path, prefix: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Have these specs solved and installed; the last word is "driver" where one is seen."""
    return subprocess.run([str(python), "-c", SOLVE, str(channel), str(prefix), *words], text=True,
                          capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(("release", "name", "cpu", "cuda"), [
    ("torch==2.10.0", "pytorch", "cpu_generic_py312_h4444444_0", "cuda126_generic_py312_h1_203"),
    ("tensorflow==2.18.1", "tensorflow", "cpu_py312h1_0", "cuda126py312h1_200")])
def test_the_step_for_conda_puts_the_cuda_build_in_place_of_the_one_for_the_cpu(
        tmp_path: Path, release: str, name: str, cpu: str, cuda: str) -> None:
    """Also where a newer one for the CPU is there; without a driver the solver refuses, as the page says."""
    python = installed("rattler", RATTLER) / "bin" / "python"
    channel, prefix = tmp_path / "channel", tmp_path / "own"
    write_channel(channel)
    first = run(python, channel, prefix, name, "none")
    assert first.returncode == 0, first.stderr
    assert (prefix / "share" / name).read_text("utf-8") == f"{name} {cpu}"
    words = step(release, prefix)
    assert words[:6] == ["conda", "install", "--prefix", str(prefix), "-c", "conda-forge"]
    refused = run(python, channel, prefix, *words[6:], "none")
    assert refused.returncode != 0
    assert "__cuda" in refused.stderr
    done = run(python, channel, prefix, *words[6:], "driver")
    assert done.returncode == 0, done.stderr
    assert (prefix / "share" / name).read_text("utf-8") == f"{name} {cuda}"
