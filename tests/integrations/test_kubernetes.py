"""integrations/kubernetes: the plugin of node-problem-detector on machines, and the pod for Kubernetes."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.harness.machine import File, Machine
from tests.harness.namespace import Completed
from tests.harness.nvidia import H100
from tests.harness.programs import pod_schemas
from tests.hosts.looking import ROOT
from tests.machines import parts
from tests.machines.catalogue import r580

FOLDER = ROOT / "integrations" / "kubernetes"
PLUGIN = FOLDER / "gpudoctor-node"
OK, NON_OK, UNKNOWN = 0, 1, 2  # pkg/custompluginmonitor/types of node-problem-detector
POD = yaml.safe_load((FOLDER / "pod.yaml").read_text())
MONITOR = json.loads((FOLDER / "gpudoctor-node.json").read_text())


@pytest.mark.parametrize("name", ["pod.yaml", "gpudoctor-node.json", "gpudoctor-node"])
def test_what_was_tried_by_hand_is_what_is_here(name: str) -> None:
    """A change asks for a new trial under kubelet or node-problem-detector, or for a word on the page.

    Decision 64: no run of the tests has these programs.
    """
    tried = re.search(rf"`{re.escape(name)}` ([0-9a-f]{{12}})\b", (FOLDER / "README.md").read_text("utf-8"))
    assert tried is not None
    assert tried[1] == hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]


def plugin(machine: Machine, **variables: str) -> Completed:
    """Run the plugin as the monitor does, with the arguments of its rule."""
    (rule,) = MONITOR["rules"]
    return machine.run([str(PLUGIN), *rule["args"]],
                       environment={"GPUDOCTOR_PYTHON": sys.executable, **variables})


def test_a_healthy_node_is_ok() -> None:
    done = plugin(r580(H100))
    assert (done.returncode, done.stderr) == (OK, "")
    assert done.stdout.startswith("The machine is healthy; no framework was examined (")


def test_a_broken_node_has_its_cause_as_the_message() -> None:
    """In one line that the monitor does not cut."""
    done = plugin(parts.mismatched())
    assert done.returncode == NON_OK
    assert done.stdout.startswith("driver-kernel-userspace-mismatch [host]: The loaded NVIDIA kernel module ")
    assert done.stdout.endswith(" Next: gpudoctor rules show GPD2005\n")
    assert len(done.stdout) < MONITOR["pluginConfig"]["max_output_length"]


def test_a_node_below_another_root() -> None:
    """As a DaemonSet sees it that mounts the node's / at /host."""
    done = parts.mismatched().run(
        ["sh", "-c", f"mkdir /host && mount --rbind / /host && exec {PLUGIN} /host"],
        environment={"GPUDOCTOR_PYTHON": sys.executable})
    assert (done.returncode, done.stderr) == (NON_OK, "")
    assert done.stdout.startswith("driver-kernel-userspace-mismatch [host]: ")


def test_a_card_that_is_missing_is_a_problem() -> None:
    done = plugin(r580(H100), GPUDOCTOR_REQUIRE="gpu>=8")
    assert done.returncode == NON_OK
    assert done.stdout.startswith("requirement-not-met [host]: ")


@pytest.mark.parametrize(("variables", "said"), [
    ({}, "could not look: the probe ended with signal: SIGSEGV."),
    ({"GPUDOCTOR_PYTHON": "/opt/not/there"}, "could not look: gpudoctor ended with 127: "),
    ({"GPUDOCTOR_PYTHON": "/opt/fails"}, "could not look: gpudoctor ended with 5: no memory. Next, "),
    ({"GPUDOCTOR_PYTHON": "/opt/hangs", "GPUDOCTOR_SECONDS": "2"},
     "could not look: gpudoctor did not end in 2 s. Next, on the node: gpudoctor check -vv"),
])
def test_what_could_not_be_seen_is_unknown(variables: dict[str, str], said: str) -> None:
    """Neither broken nor well."""
    machine = r580(H100).adding(shim="crash.nvmlInit=1", files={
        "/opt/fails": File(content="#!/bin/sh\necho no memory >&2; exit 5\n", mode=0o755),
        "/opt/hangs": File(content="#!/bin/sh\nsleep 60\n", mode=0o755)})
    done = plugin(machine, **variables)
    assert done.returncode == UNKNOWN
    assert done.stdout.startswith(said)
    assert done.stdout.count("\n") == 1


def seconds(duration: str) -> int:
    """Return a duration as Go writes it, in seconds."""
    number, unit = re.fullmatch(r"(\d+)([sm])", duration).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60}[unit]


def test_the_monitor_obeys_what_node_problem_detector_validates() -> None:
    """As ApplyConfiguration and Validate do: plugin, durations, and a condition of each permanent rule."""
    settings = MONITOR["pluginConfig"]
    assert MONITOR["plugin"] == "custom"
    assert set(settings) == {"invoke_interval", "timeout", "max_output_length", "concurrency",
                             "skip_initial_status", "enable_message_change_based_condition_update"}
    conditions = {condition["type"] for condition in MONITOR["conditions"]}
    assert [one["reason"] for one in MONITOR["conditions"]] == ["NoGPUFaultSeen"]  # said of Unknown, too
    for rule in MONITOR["rules"]:
        assert set(rule) == {"type", "condition", "reason", "path", "args", "timeout"}
        assert (rule["type"], Path(rule["path"]).name) == ("permanent", PLUGIN.name)
        assert rule["condition"] in conditions
        assert seconds(rule["timeout"]) <= seconds(settings["timeout"]) < seconds(settings["invoke_interval"])
    limit = re.search(r"GPUDOCTOR_SECONDS:-(\d+)", PLUGIN.read_text())
    assert limit is not None
    assert int(limit[1]) + 2 < seconds(settings["timeout"])  # else it would be the monitor that ends it
    assert settings["skip_initial_status"] is True  # which would say that all is well before anybody looked


@pytest.fixture(params=[0, 1], ids=["oldest", "newest"])
def schema(request: pytest.FixtureRequest) -> jsonschema.Draft202012Validator:
    position: int = request.param
    return pod_schemas()[position]


def test_kubernetes_takes_the_pod(schema: jsonschema.Draft202012Validator) -> None:
    """It would not take a field that it does not know."""
    assert [error.message for error in schema.iter_errors(POD)] == []
    wrong = {**POD, "spec": {**POD["spec"], "initContainer": []}}
    assert "initContainer" in " ".join(error.message for error in schema.iter_errors(wrong))


@pytest.mark.parametrize(("machine", "code", "said"), [
    (lambda: r580(H100), 0, "The machine is healthy"),
    (parts.mismatched, 1, "driver-kernel-userspace-mismatch [host]: "),
    (lambda: r580(H100).adding(shim="crash.nvmlInit=1"), 3, "could not look: "),
], ids=["healthy", "broken", "undecided"])
def test_the_init_container_is_a_gate(machine: Callable[[], Machine], code: int, said: str) -> None:
    """The program starts only after a 0 (decision 36); the last words are one line."""
    (look,) = POD["spec"]["initContainers"]
    done = machine().run([sys.executable, "-m", "gpudoctor", *look["args"]], cwd=str(ROOT))
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(said)
    assert len(done.stdout) < 2048  # of which Kubernetes keeps as much
