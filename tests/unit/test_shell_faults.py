"""What a shell refuses to parse: held against the shells that are here, by their own -n."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.manifests.shell_faults import fault_of
from gpudoctor.manifests.spans import traced
from tests.unit.test_manifest_troubles import SLIM, causes, docker, judged

SHELLS = [name for name in ("dash", "bash") if shutil.which(name)]
PIECES = st.sampled_from([
    "a", "b ", "'", '"', "$(", "$", "{", "${x", "}", ")", "(", "`", "\\", "#", " ", "|", "&&", ";", "\n",
    "$'", "x=1", "if ", "fi;", "echo ", "case x in a) b;; esac", "<<", "$$", "[", "~"])


def refusing(text: str) -> list[str]:
    """Return the shells that refuse a text before they run any of it."""
    return [name for name in SHELLS if subprocess.run(
        [name, "-n", "-c", text], check=False, capture_output=True).returncode != 0]


@pytest.mark.parametrize(("text", "said", "start"), [
    ('echo "hello', 'the quote " is not closed', 5), ("echo don't && ls", "the quote ' is not closed", 8),
    ("a && b &&", "nothing stands behind &&", 7), ("a |", "nothing stands behind |", 2),
    ("a || # why", "nothing stands behind ||", 2), ("x=$(date", "$( is not closed", 2),
    ('x="$(date"', 'the quote " is not closed', 2), ("echo `date", "the quote ` is not closed", 5),
    ("'a' \"b\" 'c", "the quote ' is not closed", 8)])
def test_what_is_not_closed_is_found_where_it_is_opened(text: str, said: str, start: int) -> None:
    fault = fault_of(traced(text, 0))
    assert fault is not None
    assert (fault.said, fault.start) == (said, start)
    assert refusing(text) == SHELLS


@pytest.mark.parametrize("text", [
    "", "a", "a && b", "a &", "echo \\' \\\"", "echo \"don't\"", "echo 'a \"b'", "a # don't", "echo a#'b'",
    "v=\"$(grep -oP '\"v\\K[^)]+' f)\"", "echo \"${x:-it's}\"", "echo $(echo $(echo ')'))", "x=$((1 + (2)))",
    "for f in *; do echo \"$f\"; done", "case x in a) b;; esac", "echo '\\'", "sed -i 's/(//' f",
    "echo $'it\\'s'", "cat <<EOF\ndon't\nEOF\n", "a | b || c && d;", "echo ${x}", "echo a\\|"])
def test_what_a_shell_parses_is_left_alone(text: str) -> None:
    assert fault_of(traced(text, 0)) is None


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=150, deadline=None)
def test_what_is_found_is_refused_by_every_shell(text: str) -> None:
    if fault_of(traced(text, 0)) is not None:
        assert refusing(text) == SHELLS


def test_a_run_that_does_not_parse_is_an_error_and_the_rest_is_judged() -> None:
    found = judged(docker("# docker run --gpus all", SLIM, "RUN echo 'a && \\", "  b",
                          "RUN pip install six>=1", "RUN pip install tensorflow==2.20.0"))
    assert [(str(one.place), one.finding.cause) for one in found.findings] == [
        ("Dockerfile:3:10", "shell-not-parsed"), ("Dockerfile:5:17", "requirement-not-quoted"),
        ("Dockerfile:6:17", "pip-nvidia-libs-not-installed")]


def test_a_script_in_a_here_document_is_parsed_as_well() -> None:
    found = judged(docker(SLIM, "RUN <<EOF", "echo a", 'echo "b', "EOF", "RUN <<EOF bash", "echo 'c'", "EOF"))
    assert [str(one.place) for one in found.findings] == ["Dockerfile:4:6"]


def test_a_backslash_at_the_end_of_a_file_ends_it() -> None:
    """An engine takes the line as it stands; with an operator before it, the shell refuses it."""
    assert causes(judged(docker(SLIM, "RUN echo a \\"))) == []
    found = judged(docker(SLIM, "RUN echo a && \\"))
    assert [str(one.place) for one in found.findings] == ["Dockerfile:2:12"]


@pytest.mark.parametrize("lines", [
    ('SHELL ["powershell", "-Command"]', "RUN echo 'a"), ('SHELL ["python3", "-c"]', "RUN print('a"),
    ("RUN <<EOF", "#!/usr/bin/env python3", 'print("""a', "it's", '""")', "EOF"),
    ('RUN ["echo", "it\'s"]',)])
def test_what_no_posix_shell_reads_is_left_alone(lines: tuple[str, ...]) -> None:
    assert causes(judged(docker(SLIM, *lines))) == []
