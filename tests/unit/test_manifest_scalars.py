"""The places of a text's characters in YAML, however it is folded, quoted or escaped there."""

from __future__ import annotations

import string
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.manifests import scalars, yaml_files
from gpudoctor.manifests.spans import ManifestError, Source

WORDS = st.text(alphabet=string.ascii_letters + "'\"\\#:>=é\t", min_size=1, max_size=12)
LINES = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=6).map("\n".join)


@given(text=LINES, style=st.sampled_from(["'", '"', ">"]), width=st.sampled_from([10, 30, 1000]))
def test_each_character_of_a_text_is_found_where_it_is_written(text: str, style: str, width: int) -> None:
    dumped = yaml.dump({"d": text}, default_style=style, width=width)
    source = Source("a.yaml", f"k:\n{dumped}".replace("\n", "\n  "))
    node = yaml_files.documents(source)[0].get("k", "d")
    assert node is not None
    found = scalars.lines(node, source)
    assert found is not None
    assert "\n".join(line.text for line in found) == text
    written = [(source.text[place], character) for line in found
               for character, place in zip(line.text, line.at, strict=False) if character.isalpha()]
    assert all(shown in (character, "\\") for shown, character in written)
    assert all(len(line.at) == len(line.text) + 1 for line in found)


def test_a_run_of_blanks_is_read_once_however_long() -> None:
    """Each blank of it looked for the end of the run: a file of 200 kB took minutes."""
    source = Source("a.yaml", 'd: "a' + " " * 200_000 + 'b"\n')
    node = yaml_files.documents(source)[0].get("d")
    assert node is not None
    begun = time.monotonic()
    assert scalars.lines(node, source) is not None
    assert time.monotonic() - begun < 2


def test_a_character_that_there_is_not_is_told_of_the_file() -> None:
    """PyYAML leaves it to Python, whose error ended `lint` on its own account."""
    with pytest.raises(ManifestError, match="no YAML"):
        yaml_files.documents(Source("a.yaml", r'd: "\UFFFFFFFF"'))
