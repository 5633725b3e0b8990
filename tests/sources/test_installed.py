"""What packages say together: plugins of JAX, packages over one another, what a whole list does not have."""

from __future__ import annotations

import pytest

from tests.sources.stating import sample, stated, value

OTHERS = "".join(f"package{number}  1.{number}\n" for number in range(15))
HEADING = "Package    Version\n---------- -------\n"


def framework(text: str, name: str) -> object:
    """Return a fact of the one framework in a text."""
    (only,) = stated(text).frameworks or ()
    return value(only, name)


def test_cpu_build_by_its_name() -> None:
    """tensorflow-cpu can be nothing else."""
    assert framework("tensorflow-cpu==2.15.0\n", "framework.build") == "cpu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensorflow==2.5.0\ntensorflow-gpu==2.2.0\n", ("tensorflow-gpu",)),  # the newer release counts
        ("tensorflow==2.5.0\ntensorboard==2.5.0\n", None),
        (f"{HEADING}{OTHERS}tensorflow 2.5.0\n", ()),
    ],
)
def test_packages_over_one_another(text: str, expected: object) -> None:
    """Several count wherever they stand; that there is one alone, only a whole list says."""
    assert framework(text, "framework.other_distributions") == expected


@pytest.mark.parametrize(
    ("text", "build", "cuda"),
    [
        ("jax==0.4.30\njaxlib==0.4.30\njax-cuda12-plugin==0.4.30\n", "cuda", "12"),
        ("jax==0.4.13\njaxlib==0.4.13+cuda11.cudnn86\n", "cuda", "11"),
        ("jax==0.4.30\njaxlib==0.4.30\n", None, None),
        (f"{HEADING}{OTHERS}jax 0.4.30\njaxlib 0.4.30\nwheel 0.45\n", "cpu", None),
        (f"{HEADING}{OTHERS}jax 0.4.30\njaxlib 0.4.30\n", None, None),  # cut off there
    ],
)
def test_build_of_jax(text: str, build: str | None, cuda: str | None) -> None:
    """Its plugin decides; that there is none, only a whole list says."""
    assert (framework(text, "framework.build"), framework(text, "framework.cuda")) == (build, cuda)


def test_whole_list_says_which_packages_of_nvidia_there_are() -> None:
    """And that there are none."""
    assert value(sample("pip-list.txt").host, "python.nvidia_distributions") == ()
    assert value(sample("pip-freeze.txt").host, "python.nvidia_distributions") is None
    assert len(str(value(sample("pip-list.json").host, "python.nvidia_distributions")).split("'name'")) == 13
