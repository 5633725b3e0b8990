"""What the commands of `fix --apply` say is shown and logged as they said it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.hosts.test_fix import MOVE, Place, outcomes


def test_what_a_command_says_keeps_its_order(tmp_path: Path) -> None:
    """Of a dnf 5 on two streams the question came before the table that it is about."""
    place = Place(tmp_path)
    quick = "import os; [os.write(1 + at % 2, b'%d.\\n' % at) for at in range(200)]"
    place.page(1, [f'{sys.executable} -c "{quick}"', MOVE])
    document, _ = place.applied()
    assert outcomes(document) == ["done"]
    said = re.findall(r"^  \| (\d+)\.$", place.log.read_text(), re.MULTILINE)
    assert said == [str(at) for at in range(200)]
