"""Write the table of what the C library, bash and sudo say in other languages, from their own translations.

`python -m tools.locale_messages FOLDER...` reads `LANGUAGE/LC_MESSAGES/*.mo` in each: /usr/share/locale of a
system with all languages, or of unpacked packages (Debian has them in libc-l10n, bash and sudo).
"""

from __future__ import annotations

import gettext
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.framework_tables import TABLES_FOLDER
from tools.table_file import Row, Table, write_table

TARGET = TABLES_FOLDER / "locale_messages.toml"
COMMAND = "%s: command not found"
MESSAGES = {
    "libc": (
        "cannot open shared object file", "No such file or directory", "Permission denied",
        "Operation not permitted", "wrong ELF class: ELFCLASS32", "wrong ELF class: ELFCLASS64",
        "invalid ELF header", "file too short", "symbol lookup error",
        "error while loading shared libraries",
        "cannot allocate memory in static TLS block", "failed to map segment from shared object",
        "cannot enable executable stack as shared object requires", "cannot read file data",
        "Cannot allocate memory", "No such device", "No such device or address", "No space left on device",
        "Device or resource busy", "Input/output error", "Exec format error", "Invalid argument",
        "Bus error", "Segmentation fault", "Illegal instruction", "Connection refused",
        "Connection timed out", "Too many open files", "Required key not available",
        "Key was rejected by service",
        "Operation not supported", "Function not implemented", "Resource temporarily unavailable",
        "Inappropriate ioctl for device",
    ),
    "bash": (COMMAND, "Bus error", "Segmentation fault", "Illegal instruction"),
    "sudoers": (COMMAND,),
}
SOURCES = ("https://sourceware.org/git/?p=glibc.git;a=tree;f=po"
           " https://git.savannah.gnu.org/cgit/bash.git/tree/po"
           " https://github.com/sudo-project/sudo/tree/main/po")
ACCESSED = "2026-11-28"
LEAST_LETTERS, LEAST_SIGNS = 8, 3  # shorter ones are words of anybody; a sign of Chinese is about a word
TABLE = Table(
    summary="What glibc, bash and sudo say in other languages, by their English messages: a line that says "
    "one is read as it would be in English",
    key=("says",),
    columns={"says": "text", "phrases": "texts"},
    generated_by="tools/locale_messages.py",
    origin="the translations of glibc, bash and sudo",
)


def rows(folders: Iterable[Path]) -> list[Row]:
    """Return a row for each English message, with its translations."""
    found: dict[str, set[str]] = {}
    for folder in folders:
        for program, messages in MESSAGES.items():
            for path in sorted(folder.glob(f"*/LC_MESSAGES/{program}.mo")):
                with path.open("rb") as file:
                    translations = gettext.GNUTranslations(file)
                for message in messages:
                    found.setdefault(message.removeprefix("%s"), set()).update(_phrase(message, translations))
    return [{"says": says, "phrases": sorted(found[says]), "source": SOURCES, "accessed": ACCESSED}
            for says in sorted(found)]


def _phrase(message: str, translations: gettext.GNUTranslations) -> Iterator[str]:
    """Yield what is said for a message; of one about a name, what stands after the name."""
    said = " ".join(translations.gettext(message).split())
    if said == message or (message.startswith("%s") and not said.startswith("%s")):
        return
    said = said.removeprefix("%s").rstrip(".")
    if len(said) >= (LEAST_LETTERS if max(said) < "\u1100" else LEAST_SIGNS):
        yield said


def main(folders: Sequence[str]) -> int:
    """Write the table, or say what is missing."""
    found = rows(map(Path, folders))
    missing = [row["says"] for row in found if not row["phrases"]]
    if missing or not found:
        print(f"no translation of {missing or 'all messages'}: name folders that hold them", file=sys.stderr)
        return 1
    write_table(TARGET, TABLE, found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
