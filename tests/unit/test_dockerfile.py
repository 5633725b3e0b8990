"""A Dockerfile as instructions and as what it builds."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.dockerfile import parse
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.stages import environments
from gpudoctor.manifests.statements import Environment


def built(text: str, **files: str) -> Environment:
    """Return what a Dockerfile builds; `files` are the others of its folder, by their names without .txt."""
    def reader(name: str) -> Source | None:
        text = files.get(name.removesuffix(".txt"))
        return None if text is None else Source(name, text)

    [environment] = environments(Source("Dockerfile", text), reader)
    return environment


def asked(text: str, **files: str) -> list[str]:
    return [one.text for one in built(text, **files).asked]


@pytest.mark.parametrize(("text", "expected"), [
    ("FROM a\nRUN b \\\n  c\n", ["FROM a", "RUN b   c"]),
    ("FROM a\nRUN b \\\n# comment\n\n  c\n", ["FROM a", "RUN b   c"]),
    ("# escape=`\nFROM a\nRUN b `\n c \\\n", ["FROM a", "RUN b  c \\"]),
    ("# syntax=docker/dockerfile:1\n# escape=`\nFROM a\nRUN b`\nc", ["FROM a", "RUN bc"]),
    ("# just a comment\n# escape=`\nFROM a\nRUN b`\nRUN c", ["FROM a", "RUN b`", "RUN c"]),
    ("\ufefffrom a\r\nrun b\r\n", ["FROM a", "RUN b"]),
    ("FROM --platform=linux/amd64 a AS b\n", ["FROM a AS b"]),
    ("FROM a\nRUN <<EOF\nFROM inside\nEOF\nCMD x\n", ["FROM a", "RUN <<EOF", "CMD x"]),
    ("FROM a\nCOPY <<-'ONE' <<TWO /to\n1\n\tONE\n2\nTWO\nUSER x",
     ["FROM a", "COPY <<-'ONE' <<TWO /to", "USER x"]),
    ("ARG V\nFROM a:$V\n", ["ARG V", "FROM a:$V"]),
])
def test_instructions(text: str, expected: list[str]) -> None:
    file = parse(Source("Dockerfile", text))
    assert [f"{one.name} {one.arguments.text.strip()}" for one in file.instructions] == expected


@pytest.mark.parametrize(("text", "words"), [
    ("", (":1:1: ", "without FROM")),
    ("# only a comment\n", (":1:1: ", "without FROM")),
    ("FROM a\n\n  FORM b\n", (":3:3: ", "'FORM' is no instruction")),
    ("RUN a\nFROM b\n", (":1:1: ", "RUN stands before the first FROM")),
    ("FROM a\nRUN cat <<EOF\nx\n", (":2:9: ", "EOF does not end")),
    ("FROM a\n{\"json\": 1}\n", (":2:1: ", "is no instruction")),
    ("FROM \n", (":1:1: ", "without an image")),
])
def test_what_is_no_dockerfile_is_one_line_with_its_place(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ManifestError) as caught:
        environments(Source("Dockerfile", text), lambda _: None)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("text", "expected"), [
    ("ARG V=1\nFROM a:$V", "a:1"),
    ("ARG V\nFROM a:${V:-2}", "a:2"),
    ("ARG V=\nFROM a:${V:-2}-${V:+x}y", "a:2-y"),
    ("ARG V\nFROM a:$V", None),
    ("FROM a AS base\nFROM base", "a"),
    ("FROM a\nFROM b\nFROM 0", "a"),
    ("FROM a AS base\nFROM b\nCOPY --from=base /x /x", "b"),
])
def test_the_image_that_it_ends_with(text: str, expected: str | None) -> None:
    image = built(text).image
    assert image is not None
    assert image.reference == expected


@pytest.mark.parametrize(("run", "expected"), [
    ("pip install a 'b>=1' c==2", ["a", "b>=1", "c==2"]),
    ("pip3.11 --no-cache-dir install -q -r x.txt -i https://i a", ["a"]),
    ("python3 -m pip install --upgrade a && uv pip install --system b", ["a", "b"]),
    ("sudo -H env X=1 /opt/venv/bin/pip install a", ["a"]),
    ("pip install . ./x git+https://y/z https://u/v.whl 'd @ file:///e' f.whl -e .", []),
    ("pip download a; pip uninstall -y b; apt-get install c", []),
    ("if x; then pip install a; fi; pip install b", ["b"]),
    ("pip install $PACKAGES a", ["a"]),
    ('["pip", "install", "a>=1"]', ["a>=1"]),
    ("<<EOF\npip install a\npip install \\\n  b\nEOF", ["a", "b"]),
    ("python3 <<EOF\npip install a\nEOF", []),
    ("pip install a && python3 - <<EOF\npip install b\nEOF", ["a"]),
    ("bash <<EOF\npip install a\nEOF", ["a"]),
    ("bash -ex <<EOF\npip install a\nEOF", ["a"]),
    ("--mount=type=cache,target=/x pip install a", ["a"]),
    ("conda install -y -c nvidia pytorch=2.1", ["torch==2.1.*"]),
])
def test_what_pip_installs(run: str, expected: list[str]) -> None:
    assert asked(f"FROM a\nRUN {run}\n") == expected


def test_files_that_are_copied_in_are_read() -> None:
    text = "FROM a\nCOPY deps/base.txt /tmp/\nRUN pip install -r /tmp/base.txt\n"
    assert asked(text, **{"deps/base": "a==1  # why\n-r more.txt\n", "deps/more": "b\n"}) == ["a==1", "b"]
    assert asked(text) == []


def test_files_that_name_one_another_are_refused_as_pip_refuses_them() -> None:
    with pytest.raises(ManifestError, match=r"c\.txt:1:4: leads in a circle: b\.txt"):
        asked("FROM a\nRUN pip install -r b.txt", b="-r c.txt\nx", c="-r b.txt\ny")


def test_packages_that_another_stage_installs_come_along_with_their_folder() -> None:
    text = "FROM a AS one\nRUN pip install x\nFROM b\nCOPY --from=one {} /to\n"
    assert asked(text.format("/opt/venv")) == ["x"]
    assert asked(text.format("/etc/motd")) == []


@pytest.mark.parametrize(("run", "meant", "given"), [
    ("pip install a>=1", "a>=1", "a"),
    ("pip install x a[b]>=1,<2 y", "a[b]>=1,<2", "a[b]"),
    ("pip install a<2", "a<2", "a"),
    ("if x; then pip install a>2.0; fi", "a>2.0", "a"),
])
def test_a_bound_that_the_shell_takes(run: str, meant: str, given: str) -> None:
    text = f"FROM i\nRUN {run}\n"
    [lost] = built(text).lost
    assert (lost.meant, lost.given, text[lost.place.start:lost.place.end]) == (meant, given, meant)
    assert (lost.place.line, lost.place.column) == (2, text.splitlines()[1].index(meant) + 1)


@pytest.mark.parametrize("run", [
    "pip install 'a>=1'", "pip install \"a>=1\"", "pip install a\\>=1", '["pip", "install", "a>=1"]',
    "pip install a >log", "pip install a>log.txt", "pip install a 2>&1", "pip install a > /dev/null 2>&1",
    "echo a>=1", "pip install -r x.txt<y", "cat <<EOF\npip install a>=1\nEOF", "pip download a>=1",
])
def test_what_only_looks_like_it(run: str) -> None:
    assert built(f"FROM i\nRUN {run}\n").lost == ()


def test_a_shell_that_is_none_of_ours_is_not_judged() -> None:
    assert built('FROM i\nSHELL ["powershell", "-command"]\nRUN pip install a>=1\n').lost == ()


def test_variables() -> None:
    environment = built('FROM a\nARG X=1\nENV A=$X B="c d" C=$UNKNOWN/e\nENV OLD some text\n')
    values = {name: (one.value, one.stated) for name, one in environment.settings.items()}
    assert values == {
        "A": ("1", "1"), "B": ("c d", "c d"), "C": (None, "/e"), "OLD": ("some text", "some text")}
