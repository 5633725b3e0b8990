# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "packaging", "pip", "pytest", "requests", "urllib3>=2", "uv",
#   "cattrs>=23.2", "nvidia-ml-py>=12.535", "rich>=13", "typer>=0.16",
# ]
# ///
"""Run gpudoctor's peers and gpudoctor on the first machines and write the table in docs/comparison.md.

Environments are made with uv in a scratch folder and kept there. What each tool said is saved beside them.
Verdicts on the peers' prose stand in tools/peers/judgements.toml, each with the line that it rests on, and
hold only as long as that line is still said.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.machines.catalogue import FIRST  # noqa: E402 - the repository's root has to be on the path first
from tests.shim.build import cache_folder  # noqa: E402
from tools.peers.contestants import CONTESTANTS, DOCTOR  # noqa: E402
from tools.peers.environments import Environments  # noqa: E402
from tools.peers.judging import doctor_version, judge_all, read_judgements  # noqa: E402
from tools.peers.page import write_page  # noqa: E402
from tools.peers.running import Outcome, load, run  # noqa: E402

PAGE = ROOT / "docs" / "comparison.md"


def run_all(scratch: Path, tools: str, machines: str) -> Iterator[Outcome]:
    """Run each chosen tool on each chosen machine."""
    environments = Environments(scratch)
    for contestant in CONTESTANTS:
        if tools not in contestant.name:
            continue
        doctor = environments.doctor() if contestant.name == DOCTOR else None
        for name, scenario in FIRST.items():
            if machines in name:
                patient = environments.patient(contestant, scenario.patient)
                python = doctor or patient.python
                yield run(contestant, name, scenario, python=python, patient=patient, scratch=scratch)


def main() -> int:
    """Run, judge, write the page; 1 where a judgement is missing or no longer rests on anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, default=None, help="where environments and outputs are kept")
    parser.add_argument("--tool", default="", help="only tools with this in their name")
    parser.add_argument("--machine", default="", help="only machines with this in their name")
    parser.add_argument("--judge-only", action="store_true", help="run nothing; judge what was said before")
    parser.add_argument("--no-page", action="store_true", help="leave docs/comparison.md alone")
    options = parser.parse_args()
    scratch = options.scratch or cache_folder("peers")
    if not options.judge_only:
        for outcome in run_all(scratch, options.tool, options.machine):
            outcome.save(scratch / "said")
            print(f"{outcome.tool}: {outcome.machine}: {outcome.exit_codes}, {outcome.seconds} s", flush=True)
    outcomes = load(scratch / "said")
    cells = judge_all(outcomes, read_judgements())
    stale = [cell for cell in cells if cell.complaint]
    for cell in stale:
        print(f"{cell.tool}: {cell.machine}: {cell.complaint}", file=sys.stderr)
    if not options.no_page:
        write_page(PAGE, cells, doctor_version(outcomes))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
