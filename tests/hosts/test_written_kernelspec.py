"""env --shell kernelspec: a real Jupyter starts a kernel with the lines, and it has what was meant."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from gpudoctor.render import shells
from tests.harness.jupyter import jupyter
from tests.unit.test_shells import HOSTILE

GONE, EMPTY = "CUDA_VISIBLE_DEVICES", "EMPTY"
START = """
import json, sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="ours")
try:
    for started in range(2):
        said = []
        client.execute_interactive("import json, os; print(json.dumps(dict(os.environ)))", timeout=60,
                                   output_hook=lambda m: said.append(m["content"].get("text", "")))
        print(json.dumps(json.loads("".join(said))))
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=60)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def test_a_real_kernel_has_each_hostile_value_and_not_what_is_unset(tmp_path: Path) -> None:
    """Also after it was started anew, and however often the lines are put into its kernel.json."""
    python = jupyter() / "bin" / "python"
    variables: dict[str, str | None] = {f"A{number}": value for number, value in enumerate(HOSTILE)}
    written = shells.write({**variables, EMPTY: "", GONE: None, "NEVER_SET": None}, "kernelspec", str(python))
    assert written.refused == ()
    kernel = {"argv": ["replaced"], "display_name": "Ours", "language": "python"}
    for _ in range(2):
        kernel.update(json.loads(written.text))
    place = tmp_path / "kernels" / "ours"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(kernel), "utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", GONE: "",
                   "JUPYTER_PATH": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    run = subprocess.run([str(python), "-c", START], env=environment, cwd=tmp_path, check=True, text=True,
                         capture_output=True, timeout=180)
    for line in run.stdout.splitlines():
        seen = json.loads(line)
        assert {name: seen[name] for name in variables} == variables
        assert (seen[EMPTY], GONE in seen, "NEVER_SET" in seen) == ("", False, False)
    assert len(run.stdout.splitlines()) == 2
