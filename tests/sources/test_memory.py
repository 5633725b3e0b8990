"""Who holds the memory of a card that ran out, by the numbers of PyTorch's message in each of its ages."""

from __future__ import annotations

import pytest

from gpudoctor.model import Known
from gpudoctor.ruledb import load_shipped
from gpudoctor.sources import importers

_OLDEST = ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; {total} GiB total "
           "capacity; {allocated} GiB already allocated; {free} MiB free; {cached} MiB cached)")
_OLD = ("RuntimeError: CUDA out of memory. Tried to allocate 36.00 MiB (GPU 0; {total} GiB total capacity; "
        "{allocated} GiB already allocated; {free} MiB free; {cached} GiB reserved in total by PyTorch)")
_NEW = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
        "of {total} GiB of which {free} MiB is free. Process 4711 has {others} GiB memory in use. Including "
        "non-PyTorch memory, this process has {own} GiB memory in use.")


@pytest.mark.parametrize(("said", "elsewhere"), [
    (_OLDEST.format(total="7.93", allocated="1.10", free="12.00", cached="300.00"), True),
    (_OLDEST.format(total="7.93", allocated="6.70", free="20.06", cached="300.00"), False),
    (_OLD.format(total="10.76", allocated="0.90", free="9.81", cached="1.02"), True),
    (_OLD.format(total="10.76", allocated="9.10", free="26.12", cached="9.75"), False),
    (_NEW.format(total="23.69", free="8.81", others="21.30", own="2.20"), True),
    (_NEW.format(total="23.69", free="400.00", others="0.40", own="22.80"), False),
])
def test_what_the_process_does_not_hold_is_held_by_others(said: str, elsewhere: bool) -> None:
    assert _memory_elsewhere(said) is elsewhere


def test_a_message_over_several_lines_is_one() -> None:
    said = _OLD.format(total="10.76", allocated="0.90", free="9.81", cached="1.02")
    assert _memory_elsewhere(said.replace("; ", ";\n", 2)) is True


def test_a_message_without_numbers_says_nothing() -> None:
    assert _memory_elsewhere("CUDA out of memory. Tried to allocate 2.00 GiB.") is None


def _memory_elsewhere(said: str) -> object:
    stated = importers.read(said, "log", tables=load_shipped().tables)
    fact = stated.text.get("text.memory_elsewhere")
    return fact.value if isinstance(fact, Known) else None
