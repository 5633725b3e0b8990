"""The places of a text's characters in YAML, however it is folded, quoted or escaped there."""

from __future__ import annotations

import string

import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.manifests import scalars, yaml_files
from gpudoctor.manifests.spans import Source

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
