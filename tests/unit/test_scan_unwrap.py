"""Lines out of what carried them: prefixes of containers and of CI, envelopes of JSON, cells of notebooks."""

from __future__ import annotations

import json

import pytest

from gpudoctor.sources.unwrap import message, unwrapped, without_prefix

SAID = "E: Could not load dynamic library 'libcudnn.so.9'; \"quoted\" <here>"


@pytest.mark.parametrize("prefix", [
    "2026-11-20T05:43:12.123456789Z ",  # kubectl logs --timestamps, GitHub Actions
    "2026-11-20T05:43:12.1234567Z ",
    "2026-11-20T05:43:12+01:00 ",
    "2026-11-20T05:43:12.123456789+01:00 stderr F ",  # CRI
    "trainer-1  | ",  # docker compose
    "my_web.app-12 | 2026-11-20T05:43:12.123456789Z ",
    "[pod/trainer-abc/main] 2026-11-20T05:43:12.123456789Z ",  # kubectl logs --prefix
    "build\tRun tests\t2026-11-20T05:43:12.1234567Z ",  # gh run view --log
])
def test_prefixes_are_taken_off(prefix: str) -> None:
    """They keep importers from seeing where a line begins."""
    assert without_prefix(prefix + SAID) == SAID
    assert without_prefix(prefix) == ""


@pytest.mark.parametrize("line", [
    "2026-11-20 05:43:12.412787: W tensorflow/stream_executor/dso_loader.cc:64] Could not load",
    "Nov 20 05:43:12 host kernel: NVRM: Xid (PCI:0000:01:00): 79",
    "[    3.513145] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.129.03",
    "| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |",
    "torch | 2.1.0", "a | b", "- 1 | x", "name\tversion\t2026", "2026-11-20T05:43:12 no zone", "", "1",
    "[pod/", "2026-11-20T05:43:12Z", "2026-11-20T", "x-1", "x-1 ",
])
def test_what_does_not_stand_in_the_way_stays(line: str) -> None:
    """And what only looks a little like a prefix."""
    assert without_prefix(line) == unwrapped(line) == message(line) == line


@pytest.mark.parametrize("envelope", [
    {"log": f"{SAID}\n", "stream": "stderr", "time": "2026-11-20T05:43:12.1Z"},
    {"MESSAGE": SAID, "_HOSTNAME": "a", "PRIORITY": "3"},
    {"MESSAGE": list(SAID.encode()), "_HOSTNAME": "a"},
    {"level": "error", "msg": SAID},
    {"log": json.dumps({"message": SAID})},
    {"log": f"2026-11-20T05:43:12.1Z {SAID}\n"},
])
def test_envelopes_are_opened(envelope: object) -> None:
    """Also an envelope in an envelope, with and without a prefix before it."""
    line = json.dumps(envelope)
    assert unwrapped(line) == message(line) == SAID
    assert unwrapped(f"trainer-1  | {line}") == SAID


def test_other_texts_of_an_envelope_follow_the_message() -> None:
    """A logger may put the error into a field of its own."""
    line = json.dumps({"msg": "step failed", "error": {"text": SAID, "code": "E12"}, "n": [1, "two words"]})
    assert unwrapped(line) == f"step failed\n{SAID}\ntwo words"
    assert message(line) == "step failed"


def test_a_message_of_several_lines_is_several_lines() -> None:
    """As the program wrote it."""
    assert unwrapped(json.dumps({"log": "one\ntwo\n"})) == "one\ntwo"


@pytest.mark.parametrize("line", [
    '{"name": "torch", "version": "2.1.0"}', '[{"name": "torch"}]', '{"log": 3}', '{"log"', "{}", '{"a": "b"',
    '{"MESSAGE": [300]}', '{"MESSAGE": [true]}',
])
def test_other_json_stays_json(line: str) -> None:
    """Importers read it."""
    assert message(line) == line


def test_json_of_many_levels_is_no_envelope() -> None:
    """It would end the interpreter, or take long."""
    line = '{"log": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert unwrapped(line) == line
    number = '{"log": ' + "9" * 100_000 + "}"
    assert unwrapped(number) == number


def test_lines_of_a_notebook_are_unescaped_for_patterns_only() -> None:
    """For importers it stays the JSON that it is."""
    line = '      "' + SAID.replace('"', '\\"') + '\\n",'
    assert unwrapped(line) == SAID
    assert message(line) == line
    assert message('        "NVIDIA_VISIBLE_DEVICES=all",') == '        "NVIDIA_VISIBLE_DEVICES=all",'
