"""env --shell conda: what enters and leaves environments of conda runs both scripts, and nothing stays.

No conda is to be had as a package of an index. pypi:py-rattler writes the scripts with which other programs
enter and leave such an environment; bash runs them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gpudoctor.render import shells
from tests.harness.installed import installed
from tests.unit.test_shells import HOSTILE, need

RATTLER = "py-rattler==0.28.0"
ENTER = """
import sys
from pathlib import Path
from rattler.shell import ActivationVariables, Shell, activate
ours, other, folder = map(Path, sys.argv[1:])
path = ["/usr/bin", "/bin"]
(folder / "enter").write_text(activate(ours, ActivationVariables(None, path), Shell.bash).script)
(folder / "leave").write_text(activate(other, ActivationVariables(ours, path), Shell.bash).script)
"""
RUN = """set -e
. ./enter; env -0 > inside
. ./enter; env -0 > twice
. ./leave; env -0 > outside"""


def test_an_environment_of_conda_has_each_hostile_value_until_it_is_left(tmp_path: Path) -> None:
    """Entering it twice changes nothing more; afterwards all is as it was before."""
    variables: dict[str, str | None] = {f"A{at}": f"new {value}" for at, value in enumerate(HOSTILE)}
    variables |= {"GONE": None, "NEVER": "x"}
    before = {**{f"A{at}": value for at, value in enumerate(HOSTILE)}, "GONE": "y"}
    for shell, folder in (("conda", "activate.d"), ("conda-deactivate", "deactivate.d")):
        place = tmp_path / "ours" / "etc" / "conda" / folder
        place.mkdir(parents=True)
        (place / "gpudoctor.sh").write_bytes(shells.write(variables, shell, "python").text.encode())
    (tmp_path / "other").mkdir()
    python = installed("rattler", RATTLER) / "bin" / "python"
    subprocess.run([str(python), "-c", ENTER, str(tmp_path / "ours"), str(tmp_path / "other"), str(tmp_path)],
                   check=True, timeout=60)
    subprocess.run([need("bash"), "-c", RUN], cwd=tmp_path, check=True, timeout=60,
                   env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **before})

    def seen(name: str) -> dict[str, str]:
        entries = (entry.partition("=") for entry in (tmp_path / name).read_text("utf-8").split("\0"))
        return {key: value for key, _, value in entries if key in {**variables, **before}}

    within = {name: value for name, value in variables.items() if value is not None}
    assert seen("inside") == seen("twice") == within
    assert seen("outside") == before
