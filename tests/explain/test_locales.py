"""What the C library and the shell say in another language is read as they say it in English."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import texts
from gpudoctor.explanation.locales import in_english
from tests.explain.shipped import database
from tools import locale_messages


def test_every_translation_is_read_as_its_message() -> None:
    """Also where it begins as another does, or stands within one."""
    rows = database().tables["locale_messages"].rows
    wrong = [(row["says"], phrase) for row in rows for phrase in row["phrases"]  # type: ignore[union-attr]
             if str(row["says"]) not in in_english([f"libcuda.so.1{phrase}"], database().tables)[0]]
    assert wrong == []


@pytest.mark.parametrize(("english", "foreign"), [
    ("bash: nvidia-smi: command not found", "bash: nvidia-smi: Kommando nicht gefunden."),
    ("nvidia-smi: command not found", "nvidia-smi : commande introuvable"),
    ("bash: nvidia-smi: command not found", "bash: nvidia-smi\uff1a找不到命令"),
    ("bash: nvcc: command not found", "bash: nvcc: orden no encontrada"),
    ("libcudnn.so.8: cannot open shared object file: No such file or directory",
     "libcudnn.so.8: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden"),
    ("libcublas.so.11: cannot open shared object file: No such file or directory",
     "libcublas.so.11: Ne peut ouvrir le fichier d'objet partagé: Aucun fichier ou dossier de ce type"),
    ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
     "modprobe: ERROR: could not insert 'nvidia': 键值被服务所拒绝"),
    ("modprobe: ERROR: could not insert 'nvidia': No such device",
     "modprobe: ERROR: could not insert 'nvidia': Aucun périphérique de ce type"),
])
def test_a_line_means_the_same_in_any_language(english: str, foreign: str) -> None:
    """The shell's and the loader's reason decide, whatever LANG was."""
    causes = texts.told_causes(f"{english}\n", database())
    assert causes
    assert texts.told_causes(f"{foreign}\n", database()) == causes


def test_a_line_is_quoted_as_it_stands() -> None:
    """What is shown as seen is what the text says, and no translation of it."""
    line = "bash: nvidia-smi: Kommando nicht gefunden."
    assert [said.text for said in texts.read_text(f"{line}\n", database()).said] == [line]


def test_the_table_is_written_from_translations(tmp_path: Path) -> None:
    """What is no message of the list, or in English, is left out; a name before a message is."""
    folder = tmp_path / "xx" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    messages = {"%s: command not found": "%s\u00a0: nix gfunda.", "%s: is a directory": "%s: a Ordner"}
    (folder / "bash.mo").write_bytes(compiled(messages))
    found = {row["says"]: row["phrases"] for row in locale_messages.rows([tmp_path])}
    assert found[": command not found"] == [" : nix gfunda"]
    assert found["Bus error"] == []
    assert len(found) == len(locale_messages.MESSAGES["bash"])


def compiled(messages: dict[str, str]) -> bytes:
    """Return messages as gettext's binary file: a head, two tables of lengths and places, the texts."""
    pairs = [("", "Content-Type: text/plain; charset=UTF-8\n"), *sorted(messages.items())]
    texts_of = [one.encode() for pair in pairs for one in pair]
    count = len(pairs)
    place = 28 + 16 * count
    tables: list[list[int]] = [[], []]
    for number, text in enumerate(texts_of):
        tables[number % 2] += [len(text), place]
        place += len(text) + 1
    head = [0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0]
    numbers = b"".join(number.to_bytes(4, "little") for number in (*head, *tables[0], *tables[1]))
    return numbers + b"".join(text + b"\0" for text in texts_of)
