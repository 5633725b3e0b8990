"""`gpudoctor lint` for a host on which no GPU works: the file is judged, and the host is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor import codec, ruledb
from tests.contract.test_lint_command import FINDINGS, HEALTHY, UNDECIDED, document, lint, written

FOR_A_GPU = "# docker run --gpus all\nFROM python:3.11\n"
WITHHELD = FOR_A_GPU + "ENV NVIDIA_DRIVER_CAPABILITIES=utility\nRUN pip install tensorflow-cpu==2.18.0\n"
SOUND = FOR_A_GPU + "RUN pip install torch==2.6.0\n"


@pytest.mark.parametrize(("host", "fault", "driver"), [
    (("driver=595.45.04", "card=GTX 1050"), "GPD2064", "580."),  # the branch has dropped the card
    (("driver=535.104.05", "card=RTX 4090"), "", "535.104.05"),  # here it works
    (("driver=450.80.02", "card=RTX 4090"), "GPD2065", "6"),  # no branch so old serves it
    (("driver=none",), "GPD2001", "6"),
    (("cc=none",), "GPD1010", "6"),
])
def test_a_host_on_which_no_gpu_works_hides_nothing(host: tuple[str, ...], fault: str, driver: str,
                                                    tmp_path: Path) -> None:
    """Nothing was found, and the verdict was healthy: rules that need a working driver were silent."""
    written(tmp_path, Dockerfile=WITHHELD, Dockerfile__sound=SOUND)
    words = [f"--assume={one}" for one in host]
    said = document(lint(tmp_path, "Dockerfile", *words, "--format", "json"))
    assert [one["finding"]["rule"] for one in said["findings"]] == ["GPD3010", "GPD6010"]
    assert (said["exit_code"], said["host"]["driver"].startswith(driver)) == (FINDINGS, True)
    said = document(lint(tmp_path, "Dockerfile.sound", *words, "--format", "json"))
    assert (said["exit_code"], said["findings"]) == (UNDECIDED if fault else HEALTHY, [])
    assert [f"[{fault}]" in one["note"] for one in said["notes"] if one["matters"]] == [True] * bool(fault)


def test_a_recorded_machine_without_a_gpu_is_named(tmp_path: Path) -> None:
    """It was called healthy; a file that is for no GPU still is."""
    written(tmp_path, Dockerfile=WITHHELD, requirements__txt="tensorflow-cpu==2.18.0\n",
            machine__json=json.dumps(codec.encode_snapshot(ruledb.load().base)))
    recorded = ("--from", str(tmp_path / "machine.json"))
    said = document(lint(tmp_path, "Dockerfile", *recorded, "--format", "json"))
    assert [one["finding"]["rule"] for one in said["findings"]] == ["GPD3010", "GPD6010"]
    assert lint(tmp_path, "requirements.txt", *recorded).returncode == HEALTHY


def test_a_driver_that_serves_the_card_is_the_one_judged_for(tmp_path: Path) -> None:
    """Only what the file asks for is weighed then: a card too new for its driver is too new for torch 2.6."""
    written(tmp_path, Dockerfile=SOUND)
    run = lint(tmp_path, "Dockerfile", "--assume=driver=535.104.05", "--assume=card=RTX 5090")
    assert run.returncode == FINDINGS
    assert "ERROR gpu-too-new-for-build [GPD5020]" in run.stdout
    assert "judged as if driver" in " ".join(run.stdout.split())
