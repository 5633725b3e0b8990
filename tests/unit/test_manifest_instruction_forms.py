"""What a builder refuses or takes for something else, as BuildKit's parser does it."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import ManifestError, Source
from tests.unit.test_manifest_troubles import CUDA_12, TORCH_24, causes, docker, judged


@pytest.mark.parametrize(("line", "column", "said"), [
    ('RUN ["pip", "install", "torch==2.4.0"', 37, "its ] is missing"),
    ('RUN ["pip", "install", "torch==2.4.0"] junk', 40, "behind its ] stands 'junk'"),
    ('CMD ["python", "a.py"]  # starts it', 25, "behind its ] stands '# starts it'"),
    ("CMD ['python', 'a.py']", 6, "JSON takes double quotes, not single ones"),
    ('ENTRYPOINT ["python", "a.py",]', 30, "from here on it is no JSON"),
    ('RUN [ "pip", "install" ', 22, "its ] is missing"),
    ("RUN [pip, install, torch]", 6, "from here on it is no JSON"),
    ("COPY ['a b', '/c']", 7, "JSON takes double quotes, not single ones")])
def test_a_list_that_is_no_json_is_given_to_a_shell(line: str, column: int, said: str) -> None:
    [found] = judged(docker(CUDA_12, line)).findings
    assert (found.finding.cause, found.place.line, found.said) == (
        "json-form-broken", 2, {"file.json_fault": said})
    assert found.place.column == pytest.approx(column, abs=1)


@pytest.mark.parametrize("line", [
    'RUN [ -f x ] && echo "a, b"', 'RUN [[ "$A" == "b" ]] || true', 'RUN [ "$(uname -m)" = "x86_64" ]',
    'CMD ["python", "a.py"]', "CMD []", 'COPY ["a b", "/c"]', 'RUN echo ["a"', "RUN ls [ab]*"])
def test_a_test_of_the_shell_and_a_whole_list_are_none(line: str) -> None:
    assert causes(judged(docker(CUDA_12, line))) == []


@pytest.mark.parametrize(("line", "said"), [
    ("ENV", "ENV without anything behind it"), ("WORKDIR ", "WORKDIR without anything behind it"),
    ("ENV PATH", "ENV without a value: write ENV NAME=VALUE"), ("FROM", "FROM without an image"),
    ("ENV A=1 B", "ENV with a word without =: write NAME=VALUE, and quotes around a value that has blanks"),
    ("USER", "USER without anything behind it"), ("COPY a", "COPY without a target: write COPY FROM TO"),
    ('RUN ["pip", 1]', "RUN with a list of other things than texts: put each in double quotes"),
    ("SHELL /bin/bash -c", 'SHELL without a list in JSON: write SHELL ["/bin/bash", "-c"]')])
def test_what_no_builder_takes_ends_with_its_line(line: str, said: str) -> None:
    with pytest.raises(ManifestError) as refused:
        judged(docker(CUDA_12, TORCH_24, line))
    assert str(refused.value).partition(": ")[0].startswith("Dockerfile:3:")
    assert str(refused.value).partition(": ")[2] == said


@pytest.mark.parametrize("line", ["ENV A=", 'ENV A="b c" D=\'e f\'', "ENV A b c", "LABEL a=b", "RUN", "CMD",
                                  "ENV A=${B:-c} D=e", "ARG A B=c"])
def test_what_builders_take_is_taken(line: str) -> None:
    assert causes(judged(docker(CUDA_12, line))) == []


HELD_BACK = ("ONBUILD RUN pip install torch==2.4.7", "FROM base")


def test_what_onbuild_holds_back_is_done_in_a_later_stage_of_the_same_file() -> None:
    """First of all there, and once: a stage that is built from that one does not do it again."""
    base = CUDA_12 + " AS base"
    found = judged(docker(base, *HELD_BACK))
    assert (causes(found), found.findings[0].place.line, found.notes) == (["release-not-published"], 2, ())
    assert causes(judged(docker(base, HELD_BACK[0]))) == []
    again = docker(base, HELD_BACK[0], "FROM base AS next", "FROM next")
    [environment] = kinds.environments(Source("Dockerfile", again["Dockerfile"]), lambda _: None)
    assert len(environment.asked) == 1


@pytest.mark.parametrize(("line", "said"), [
    ("ONBUILD FROM x", "2:9: ONBUILD with FROM, which it cannot hold back"),
    ("ONBUILD ONBUILD RUN x", "2:9: ONBUILD with ONBUILD, which it cannot hold back"),
    ("ONBUILD x", "2:9: 'x' is no instruction of a Dockerfile")])
def test_what_onbuild_cannot_hold_back_ends_with_its_line(line: str, said: str) -> None:
    with pytest.raises(ManifestError) as refused:
        judged(docker(CUDA_12 + " AS base", line, "FROM base"))
    assert str(refused.value) == f"Dockerfile:{said}"
