"""What --fix writes: nothing but its own changes, nothing more the second time, and its findings are gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.manifests import kinds, rewrites
from gpudoctor.manifests.judging import Linter, Verdicts
from gpudoctor.manifests.rewrites import Rewrite
from gpudoctor.manifests.spans import Source
from tests.unit.test_manifest_troubles import database, machine

BEGINNINGS = st.sampled_from(["FROM python:3.12-slim", "FROM nvidia/cuda:12.4.1-base-ubuntu22.04"])
REQUIREMENTS = st.sampled_from([
    "numpy>=1.26", "'scipy>=1'", '"pandas>=2"', "x[y]>=1,<2", "numpy >= 1.26", "tensorflow==2.17.0",
    '"tensorflow==2.17.0"', "jax==0.4.30", "größe", "$NAME", "a>=$V", ">out", "\\\n    b>=2",
    "c<3 \\\n#d>=3\n "])
COMMANDS = st.sampled_from(["pip install", "RUN pip install", "uv pip install", "conda install -y",
                            "bash -c 'pip install", "true &&\tpip install", "<<EOF\npip install"])
LINES = st.one_of(
    st.tuples(COMMANDS, st.lists(REQUIREMENTS, min_size=1, max_size=3)).map(lambda pair: _run(*pair)),
    st.sampled_from(["ENV NVIDIA_DRIVER_CAPABILITIES=utility", "ENV A=ü NVIDIA_DRIVER_CAPABILITIES='video'",
                     "# docker run --gpus all", "", "RUN apt-get install -y cuda-12-4 \t vim"]))
ENDS = st.sampled_from(["\n", "\r\n"])


def _run(command: str, asked: list[str]) -> str:
    end = "'" if command.startswith("bash") else "\nEOF" if command.startswith("<<") else ""
    return f"RUN {command.removeprefix('RUN ')} {' '.join(asked)}{end}"


def _judged(texts: Mapping[str, str]) -> Verdicts:
    found = [one for name, text in texts.items() for one in kinds.environments(
        Source(name, text), lambda _: None)]
    return Linter(machine("driver=595.45.04", "cc=8.9"), database()).judge(found)


def _fixed(texts: Mapping[str, str]) -> tuple[tuple[Rewrite, ...], dict[str, str]]:
    changes = rewrites.proven(_judged(texts).findings, texts, _judged)
    return changes, rewrites.applied(texts, changes)


@settings(max_examples=25, deadline=None)
@given(st.tuples(BEGINNINGS, st.lists(LINES, min_size=1, max_size=5)), ENDS, st.sampled_from(["", "\ufeff"]),
       st.booleans())
def test_a_fix_changes_what_it_says_and_ends(
        written: tuple[str, list[str]], end: str, mark: str, is_ended: bool) -> None:
    text = mark + "\n".join([written[0], *written[1]]).replace("\n", end) + (end if is_ended else "")
    changes, after = _fixed({"Dockerfile": text})
    expected, at = "", 0
    for one in sorted(changes, key=lambda change: change.place.start):
        expected += text[at:one.place.start] + one.text
        at = one.place.end
    assert after["Dockerfile"] == expected + text[at:]
    found = Counter(one.finding.rule for one in _judged({"Dockerfile": text}).findings)
    left = Counter(one.finding.rule for one in _judged(after).findings)
    gone = Counter(one.rule for one in changes)
    assert all(left[rule] <= found[rule] - gone[rule] for rule in {*found, *left})
    assert _fixed(after) == ((), after)
