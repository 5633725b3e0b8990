"""Where many documents come from: whatever lies in a folder, reading it ends, and says what it left."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpudoctor.cli import gathering
from gpudoctor.cli.gathering import Found, LeftOut, Unusable, gather

ONE, TWO = '{"a": 1}', '{"b": 2}'


def found(*names: object) -> list[tuple[str, object]]:
    """Return (name, document), (name, why) or (name, what) of everything that was gathered."""
    answers: list[tuple[str, object]] = []
    for one in gather([str(name) for name in names]):
        match one:
            case (Found(name=name, document=said) | Unusable(name=name, why=said)
                  | LeftOut(name=name, what=said)):
                answers.append((os.path.basename(name), said))
    return answers


def test_a_folder_is_walked_in_order(tmp_path: Path) -> None:
    """Files of other kinds and hidden ones are left out and named; folders in it are walked."""
    (tmp_path / "b").mkdir()
    for name in ("c.json", "b/a.json", "a.json", ".hidden.json", "README.md"):
        (tmp_path / name).write_text(ONE)
    assert found(tmp_path) == [
        (".hidden.json", "hidden"), ("README.md", "no report or snapshot"), ("a.json", {"a": 1}),
        ("a.json", {"a": 1}), ("c.json", {"a": 1})]


def test_links_lead_to_files_and_not_in_circles(tmp_path: Path) -> None:
    """A linked file is read, a linked folder is not walked, and a link to nothing is said."""
    (tmp_path / "a.json").write_text(ONE)
    (tmp_path / "b.json").symlink_to("a.json")
    (tmp_path / "circle").symlink_to(".")
    (tmp_path / "gone.json").symlink_to("nowhere")
    assert found(tmp_path) == [("a.json", {"a": 1}), ("b.json", {"a": 1}), ("circle", "links to folders"),
                               ("gone.json", f"{tmp_path}/gone.json: cannot be read: no such file")]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes into it, ever."""
    os.mkfifo(tmp_path / "x.json")
    assert found(tmp_path) == [
        ("x.json", f"{tmp_path}/x.json: cannot be read: is a pipe, not a regular file")]


def test_a_file_of_many_is_read_by_lines(tmp_path: Path) -> None:
    """One a line, empty lines passed over; a broken one is told with its number, and the next one is read."""
    path = tmp_path / "all.ndjson"
    path.write_text(f"{ONE}\n\n{{broken\n{TWO}")
    first, broken, last = found(path)
    assert (first, last) == (("all.ndjson:1", {"a": 1}), ("all.ndjson:4", {"b": 2}))
    assert broken[0] == "all.ndjson:3"
    assert "not valid JSON" in str(broken[1])


@pytest.mark.parametrize(("text", "names"), [
    (ONE, ["x.json"]), (f"{ONE}\n", ["x.json"]),
    (json.dumps({"a": {"b": 1}}, indent=1), ["x.json"]),
    ("{\n}\n\n{\n}{\n}\n", ["x.json:1", "x.json:4", "x.json:5"]),
    (json.dumps({"a": "}\n{", "b": [{}, {}]}, indent=0), ["x.json"]),
    (f"\n{ONE}", ["x.json:2"]), (f"{ONE}\n{TWO}\n", ["x.json:1", "x.json:2"]), (f"\ufeff{ONE}", ["x.json"])])
def test_how_a_document_is_laid_out_does_not_matter(tmp_path: Path, text: str, names: list[str]) -> None:
    """On one line, on many, several of them, with a mark of its encoding: all are read by what they are."""
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    answers = found(path)
    assert [name for name, _ in answers] == names
    assert all(isinstance(document, dict) for _, document in answers)


@pytest.mark.parametrize(("last", "names"), [
    ("", ["all.json", "all.json:4"]), (ONE, ["all.json:1", "all.json:4", "all.json:7"])])
def test_what_was_cut_off_takes_nothing_along(tmp_path: Path, last: str, names: list[str]) -> None:
    """Of documents behind one another: what is behind a broken one is another machine."""
    path = tmp_path / "all.json"
    path.write_text("{\n \"cut\":\n 1,\n{\n \"a\": 1\n}\n" + last)
    (called, why), *whole = found(path)
    assert [called, *(name for name, _ in whole)] == names
    assert "not valid JSON" in str(why)
    assert [document for _, document in whole] == [{"a": 1}] * (len(names) - 1)


def test_gzip_is_known_by_what_it_is(tmp_path: Path) -> None:
    """Whatever the file is called; one that was cut off says so, after what was whole."""
    (tmp_path / "a.json").write_bytes(gzip.compress(ONE.encode()))
    packed = gzip.compress("\n".join([ONE, TWO] * 9000).encode())
    (tmp_path / "b.ndjson.gz").write_bytes(packed[:-20])
    answers = found(tmp_path)
    assert answers[0] == ("a.json", {"a": 1})
    assert answers[-1][0] == "b.ndjson.gz"
    assert "cannot be read" in str(answers[-1][1])
    assert len(answers) > 100


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x1f\x8b", b"\x1f\x8b\x08\x00garbage", b"{", b"[" * 100_000,
                                  b"\xff\xfe{}", b"1" * 10_000, b"{\"a\":" * 5000])
def test_rubbish_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    """No file ends the reading of a folder."""
    (tmp_path / "a.json").write_bytes(data)
    (tmp_path / "b.json").write_text(ONE)
    rubbish, good = found(tmp_path)
    assert good == ("b.json", {"a": 1})
    assert str(rubbish[1]).startswith(f"{tmp_path}/a.json")
    assert "\n" not in str(rubbish[1])


def test_a_document_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also behind gzip, where a small file is a large document."""
    monkeypatch.setattr(gathering, "MAX_BYTES", 1000)
    (tmp_path / "a.json").write_bytes(gzip.compress(b"{" + b" " * 100_000))
    (tmp_path / "b.jsonl").write_text(f"{ONE}\n{'x' * 2000}\n{ONE}\n")
    (tmp_path / "c.json").write_text("{\n" + " " * 2000 + "}")
    (tmp_path / "d.json").write_text("{\n}\n" * 3 + "{\n" + " " * 2000)
    answers = found(tmp_path)
    assert [name for name, _ in answers] == [
        "a.json", "b.jsonl:1", "b.jsonl:2", "c.json", "d.json:1", "d.json:3", "d.json:5", "d.json:7"]
    assert [name for name, said in answers if "larger than" in str(said)] == [
        "a.json", "b.jsonl:2", "c.json", "d.json:7"]


def test_documents_behind_one_another_are_read_wherever_a_read_ends(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place between two of them may lie in any part of what is read at once."""
    text = "".join(f"{{\n\"n\": {number}\n}}\r\n" for number in range(40))
    (tmp_path / "a.json").write_bytes(text.encode())
    for step in range(1, 30):
        monkeypatch.setattr(gathering, "_STEP", step)
        assert [said for _, said in found(tmp_path / "a.json")] == [{"n": number} for number in range(40)]


def test_what_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """Also a file in a folder that is named as well, and by another way to it."""
    (tmp_path / "rack").mkdir()
    (tmp_path / "rack" / "a.json").write_text(ONE)
    (tmp_path / "way").symlink_to("rack")
    assert len(found(tmp_path / "rack", tmp_path / "rack/a.json", tmp_path / "way", f"{tmp_path}/rack/")) == 1


def test_a_folder_that_may_not_be_listed_is_told(tmp_path: Path) -> None:
    """So is a file that is not there."""
    assert found(tmp_path / "nothing.json") == [
        ("nothing.json", f"{tmp_path}/nothing.json: cannot be read: no such file")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read by lines, or as one document."""
    given = io.BufferedReader(io.BytesIO(f"{ONE}\n{TWO}\n".encode()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=given))
    assert [name for name, _ in found("-")] == ["standard input:1", "standard input:2"]
