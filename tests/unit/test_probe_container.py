"""The container probe: real traces of runtimes, and the left-overs that are no container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.payloads import container as payload
from gpudoctor.probes import container
from gpudoctor.probes.raw import Answer
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

FIRST = {"pid": "pid:[4026531836]", "uts": "uts:[4026531838]", "ipc": "ipc:[4026531839]",
         "cgroup": "cgroup:[4026531835]", "user": "user:[4026531837]"}
OWN = {**FIRST, "pid": "pid:[4026532291]", "uts": "uts:[4026532289]", "ipc": "ipc:[4026532290]"}
ID = "66826257e096f3c9d04f17577dab7ef5d84078c88f18f646fd37050ec5b6b4f6"
ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard"
LAYERED = "1076 961 0:286 / / rw,relatime master:250 - overlay overlay rw,lowerdir=/a:/b,upperdir=/c"
DOCKER_HOSTS = f"506 496 254:1 /docker/containers/{ID}/hosts /etc/hosts rw,relatime - ext4 /dev/vda1 rw"
PODMAN_HOSTS = f"600 590 0:50 /containers/overlay-containers/{ID}/userdata/hosts /etc/hosts rw - tmpfs t rw"
POD_HOSTS = ("650 640 8:1 /var/lib/kubelet/pods/2e2e4d33-19a8-4c0c-8b1b-8a0c2c7c2f2a/etc-hosts /etc/hosts"
             " rw,relatime - ext4 /dev/sda1 rw")
LXCFS = "300 290 0:60 /proc/cpuinfo /proc/cpuinfo rw,nosuid,nodev,relatime - fuse.lxcfs lxcfs rw,user_id=0"
ENROOT = "200 100 8:1 /home/ada/.local/share/enroot/pytorch / rw,nosuid,nodev,relatime - ext4 /dev/sda1 rw"
NVIDIA_MOUNTS = [
    "700 650 259:2 /usr/lib/libcuda.so.550.54.15 /usr/lib64/libcuda.so.550.54.15 ro - ext4 /dev/root ro",
    "701 650 259:2 /usr/bin/nvidia-smi /usr/bin/nvidia-smi ro,nosuid,nodev,relatime - ext4 /dev/root ro",
    "702 650 0:6 /nvidia0 /dev/nvidia0 ro,nosuid,noexec,relatime - devtmpfs udev rw",
    "703 650 0:55 / /proc/driver/nvidia rw,nosuid - tmpfs tmpfs rw",
    "704 650 259:2 /lib/libm.so.6 /opt/my\\040app/libm.so.6 ro - ext4 /dev/root ro",
]
PLAIN: dict[str, Any] = {
    "files": {},
    "containerenv": {"missing": True},
    "systemd_container": {"missing": True},
    "variables": {},
    "cgroup_self": {"text": "0::/user.slice/user-1000.slice/session-3.scope\n"},
    "cgroup_init": {"text": "0::/init.scope\n"},
    "cgroup_controllers": True,
    "namespaces": FIRST,
    "mounts": {"lines": [ROOT]},
    "compat": [],
    "cdi": [{"path": "/etc/cdi", "missing": True}, {"path": "/var/run/cdi", "missing": True}],
    "programs": {"nvidia-ctk": None}, "program_folders": "/usr/sbin:/usr/bin",
    "toolkit_config": {"missing": True}, "docker_socket": False,
    "security_label": {"error": "OSError: Invalid argument"}, "shared_memory": {"bytes": 1 << 33},
}
FULL: dict[str, Any] = {
    **PLAIN, "files": {"/.dockerenv": True}, "variables": {"container": "oci"}, "namespaces": OWN,
    "cgroup_self": {"text": "0::/\n"}, "mounts": {"lines": [LAYERED, DOCKER_HOSTS, *NVIDIA_MOUNTS]},
    "compat": [{"path": "/usr/local/cuda/compat", "real_path": "/usr/local/cuda-12.4/compat",
                "libcuda": ["libcuda.so.1"], "error": None}],
    "cdi": [{"path": "/etc/cdi", "names": ["nvidia.yaml", "notes.txt"],
             "drivers": {"nvidia.yaml": ["580.95.05"], "notes.txt": []}}],
    "programs": {"nvidia-ctk": None, "nvidia-container-cli": "/usr/bin/nvidia-container-cli"},
    "toolkit_config": {"text": "[nvidia-container-cli]\n#no-cgroups = false\nno-cgroups = true\n"},
    "docker_socket": True, "security_label": {"text": "system_u:system_r:container_t:s0:c1,c2\u0000"},
    "shared_memory": {"bytes": 1 << 26},
}


def read(**changes: Any) -> dict[str, Fact]:
    return container.read(good({**PLAIN, **changes}))


@pytest.mark.parametrize(("runtime", "changes"), [
    ("docker", {"files": {"/.dockerenv": True}, "namespaces": OWN, "mounts": {"lines": [LAYERED]}}),
    ("docker", {"mounts": {"lines": [LAYERED, DOCKER_HOSTS]}, "cgroup_self": {"text": "0::/\n"}}),
    ("docker", {"cgroup_self": {"text": f"12:devices:/docker/{ID}\n11:memory:/docker/{ID}\n"}}),
    ("docker", {"files": {"/.dockerenv": True}, "namespaces": {}, "mounts": {"missing": True}}),
    ("docker", {"files": {"/.dockerenv": True}, "namespaces": {**FIRST, "uts": "uts:[4026532289]"}}),
    ("podman", {"files": {"/run/.containerenv": True}, "namespaces": OWN}),
    ("podman", {"mounts": {"lines": [LAYERED, PODMAN_HOSTS]}}),
    ("kubernetes", {"variables": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "namespaces": OWN}),
    ("kubernetes", {"files": {"/.dockerenv": True}, "variables": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
                    "namespaces": OWN, "mounts": {"lines": [LAYERED, DOCKER_HOSTS]}}),
    ("kubernetes", {"mounts": {"lines": [LAYERED, POD_HOSTS]}}),
    ("kubernetes", {"cgroup_self": {"text": f"0::/kubepods.slice/cri-containerd-{ID}.scope"}}),
    ("containerd", {"cgroup_self": {"text": f"0::/system.slice/containerd.service/containerd/{ID}\n"}}),
    ("lxc", {"systemd_container": {"text": "lxc\n"}}),
    ("lxc", {"mounts": {"lines": [ROOT, LXCFS]}}),
    ("systemd-nspawn", {"systemd_container": {"text": "systemd-nspawn\n"}}),
    ("apptainer", {"variables": {"APPTAINER_CONTAINER": "/home/ada/tf.sif"}}),
    ("apptainer", {"variables": {"SINGULARITY_NAME": "tf.sif"}}),
    ("enroot", {"mounts": {"lines": [ENROOT]}}),
    ("flatpak", {"files": {"/.flatpak-info": True}}),
    ("oci", {"variables": {"container": "oci"}, "namespaces": OWN}),
    ("other", {"mounts": {"lines": [LAYERED]}, "namespaces": OWN}),
])
def test_runtimes(runtime: str, changes: dict[str, Any]) -> None:
    """Each by the traces it leaves."""
    assert value(read(**changes)["container.runtime"]) == runtime


@pytest.mark.parametrize("changes", [
    {},
    {"files": {"/.dockerenv": True}},  # a disk made from a container image
    {"variables": {"container": "lxc"}},  # exported by somebody's shell
    {"variables": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}},
    {"cgroup_self": {"text": "0::/system.slice/docker.service\n"}},  # the engine itself
    {"cgroup_self": {"text": "0::/lxc.monitor.web\n"}},
    {"mounts": {"lines": [LAYERED]}},  # a live system
    {"namespaces": OWN},  # unshare, or a service with PrivatePIDs
    {"systemd_container": {"text": "wsl\n"}},
    {"variables": {"container": "wsl"}, "namespaces": OWN},
])
def test_what_is_no_container(changes: dict[str, Any]) -> None:
    """One sign alone is a left-over."""
    assert isinstance(read(**changes)["container.runtime"], Absent)


def test_without_any_view_it_is_unknown() -> None:
    """Neither namespaces nor mounts can be read."""
    facts = read(namespaces={}, mounts={"error": "PermissionError: Permission denied"})
    assert isinstance(facts["container.runtime"], Unknown)
    assert isinstance(facts["container.driver_mounts"], Unknown)


@pytest.mark.parametrize(("changes", "expected"), [
    ({"cgroup_controllers": True}, 2),
    ({"cgroup_controllers": False, "cgroup_self": {"text": "9:name=systemd:/\n8:pids:/\n0::/\n"}}, 1),
    ({"cgroup_controllers": False, "cgroup_self": {"text": "0::/\n"}}, 2),
    ({"cgroup_controllers": False, "cgroup_self": {"missing": True}}, Absent),
])
def test_cgroup_version(changes: dict[str, Any], expected: object) -> None:
    """A hybrid set-up does its work in version 1."""
    fact = read(**changes)["container.cgroup_version"]
    assert (fact.value if isinstance(fact, Known) else type(fact)) == expected


def test_driver_files_that_were_mounted_in() -> None:
    """Libraries, tools and nodes of the driver, no other mounts."""
    facts = container.read(good(FULL))
    assert value(facts["container.driver_mounts"]) == (
        "/usr/lib64/libcuda.so.550.54.15", "/usr/bin/nvidia-smi", "/dev/nvidia0", "/proc/driver/nvidia")
    assert value(facts["container.compat_folders"]) == ("/usr/local/cuda-12.4/compat",)
    assert value(facts["container.cdi_specs"]) == ("/etc/cdi/nvidia.yaml",)


def test_the_engines_of_a_machine_and_their_toolkit() -> None:
    """Programs in the engine folders, the toolkit's setting, which driver the CDI specifications are for."""
    facts = container.read(good(FULL))
    assert value(facts["container.toolkit"]) == "/usr/bin/nvidia-container-cli"
    assert facts["container.toolkit"].source == "/usr/sbin:/usr/bin"  # type: ignore[union-attr]
    assert value(facts["container.toolkit_no_cgroups"]) is True
    assert value(facts["container.docker_socket"]) is True
    assert value(facts["container.cdi_drivers"]) == ("580.95.05",)
    assert value(facts["container.security_label"]) == "system_u:system_r:container_t:s0:c1,c2"
    assert value(facts["container.shared_memory_bytes"]) == 1 << 26
    nothing = read()
    assert {name for name, fact in nothing.items() if isinstance(fact, Absent)} >= {
        "container.toolkit", "container.toolkit_no_cgroups", "container.cdi_drivers",
        "container.security_label"}


@pytest.mark.parametrize(("text", "expected"), [
    ("#no-cgroups = true\n", False), ("  no-cgroups=true\n", True), ("no-cgroups = false\n", False),
    ("x = 1\n", False)])
def test_the_setting_no_cgroups(text: str, expected: bool) -> None:
    """A comment sets nothing, and what is not set is off."""
    assert value(read(toolkit_config={"text": text})["container.toolkit_no_cgroups"]) is expected


@pytest.mark.parametrize(("name", "told"), [
    ("programs", "toolkit"), ("toolkit_config", "toolkit_no_cgroups"),
    ("docker_socket", "docker_socket"), ("security_label", "security_label"),
    ("shared_memory", "shared_memory_bytes")])
def test_what_was_not_collected_is_unknown(name: str, told: str) -> None:
    """Never "not there"."""
    assert isinstance(read(**{name: None})[f"container.{told}"], Unknown)


def test_the_driver_of_a_specification_is_read_from_its_libraries(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A specification lists the driver's files one by one, by their versions."""
    library = "/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.07"
    (tmp_path / "nvidia.yaml").write_text(f"- containerPath: {library}\n  hostPath: {library}\n")
    monkeypatch.setattr(payload, "CDI_FOLDERS", (str(tmp_path),))
    facts = read(cdi=payload._cdi_specs())
    assert value(facts["container.cdi_drivers"]) == ("570.133.07",)


def test_a_compat_folder_without_libcuda_is_none() -> None:
    """An emptied package shadows nothing."""
    empty: dict[str, Any] = {"path": "/usr/local/cuda/compat", "real_path": "/c", "libcuda": []}
    assert isinstance(read(compat=[empty])["container.compat_folders"], Absent)
    refused = {**empty, "error": "PermissionError: Permission denied"}
    assert isinstance(read(compat=[refused])["container.compat_folders"], Unknown)


def test_compat_folders_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_HOME is usually a link to a folder that is found anyway."""
    (tmp_path / "cuda-12.4" / "compat").mkdir(parents=True)
    (tmp_path / "cuda-12.4" / "compat" / "libcuda.so.1").touch()
    (tmp_path / "cuda").symlink_to("cuda-12.4")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda-12.4"))
    found = [folder for folder in payload._compat_folders() if folder["path"].startswith(str(tmp_path))]
    assert [(folder["real_path"], folder["libcuda"]) for folder in found] == [
        (str(tmp_path / "cuda-12.4" / "compat"), ["libcuda.so.1"])]


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_this_machine(version: str) -> None:
    """The collector runs in old and new interpreters and sees the root mount and the control groups."""
    answer = ask("container", interpreter=interpreter(version))
    assert answer.outcome == "ok", answer
    assert any(point == "/" for _, point, _ in container.mounts(answer.data))
    assert value(container.read(answer)["container.cgroup_version"]) in (1, 2)


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(container, "container", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(FULL))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(container, "container", good(data))
