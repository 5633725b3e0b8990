"""Lines that name a fault, and there is none: "Remapping Failure Occurred : No", "is deprecated"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudoctor.explanation.reading import Quoted

# A label and its value alone in a line, as nvidia-smi -q, its XML, lscpu and collect_env print them.
_ENTRY = re.compile(r"<?(?P<label>[A-Za-z][\w ()/.,-]{0,60}?) ?[:=>] ?(?P<value>[^:=<>]{1,60})(?:</\w+>)?")
# Of entries, in nvidia-smi -q, its XML and its tables.
_HEADING = re.compile(r" {4,}[A-Z]\w*(?: [A-Z]\w*){0,4}|\s*</?\w+>|\| [A-Z]\w*(?: \w+){0,4}: {4,100}\|")
# A package of pip, conda or dpkg with its version, a line of JSON, the modules that lspci finds for a card;
# and what somebody is to type.
_LISTED = re.compile(
    r"[A-Za-z_][\w.-]{0,80}(?: \(|==| )[0-9][\w.!+-]{0,60}\)?(?: [\w.]{1,60}_[0-9]{1,4}(?: \S{1,60})?)?"
    r"|(?:ii|rc|hi) .*|[\[{]{1,2}\".*|\"\w{1,40}\": .*|Kernel modules: .*|(?:\$ |sudo )\S.*")
_NOTHING = frozenset({
    "0", "no", "n/a", "none", "not active", "not affected", "not set", "disabled", "passed", "pass",
    "requested functionality has been deprecated",
})
# A line that says no more than that.
_DENIAL = re.compile(
    r"(?:[^:]{1,30}: ?)?(?:0|no|zero|without)(?: (?!more )\w{1,12}){0,2} "
    r"(?:errors?|faults?|failures?|problems?)(?: (?:occurred|found|detected|reported|seen|so far))?[.!]?",
    re.IGNORECASE)
_MOST_ENTRIES = 8  # in one line: "CUDA Archs: Not Set; ROCm: Disabled", of vLLM's collect_env
# A mode in the XML of nvidia-smi -q -x, and a process, which may be a whole command line.
_ELEMENT = re.compile(r"<(?:process_name|[a-z_]{1,60}_mode)>[^<]*(?:</\w+>)?")
# What strace shows of a file that was looked for and did not lie there, and the loader's own trace: a program
# tries many places, and goes on.
_TRIED = re.compile(
    r".*\) += -1 ENOENT \(No such file or directory\)|[0-9]{1,10}:\s{1,8}(?:trying file=|find library=|"
    r"search (?:path|cache)=|calling (?:init|fini): ).*")
# What is deprecated works as yet.
_DEPRECATED = re.compile(
    r"\b(?:is|are|was|were|been|being) deprecated\b|\b(?:Pending)?DeprecationWarning:|\bFutureWarning:")
_NOT_COLLECTED = "Could not collect"  # collect_env, of what the machine does not have
_VULNERABILITY = "Vulnerability "  # lscpu, of the processor's known weaknesses
_HEADINGS = frozenset({"ECC Errors", "Aggregate Uncorrectable SRAM Sources"})  # of nvidia-smi -q


def of_faults(lines: Iterable[Quoted]) -> tuple[Quoted, ...]:
    """Return the lines without those that are entries of a report and speak of no fault."""
    return tuple(line for line in lines if not speaks_of_none(line.text))


def speaks_of_none(line: str) -> bool:
    """Say whether a line only holds the place of a fault in a report that has none."""
    said = line.strip(" |\t")
    if said in _HEADINGS or said.startswith(_VULNERABILITY) or said.endswith(_NOT_COLLECTED):
        return True
    if any(form.fullmatch(said) for form in (_DENIAL, _TRIED, _ELEMENT)):
        return True
    if _DEPRECATED.search(said):
        return True
    return all(map(_holds_nothing, said.split("; ", _MOST_ENTRIES)))


def _holds_nothing(said: str) -> bool:
    entry = _ENTRY.fullmatch(said)
    return entry is not None and entry["value"].strip().lower() in _NOTHING


def is_element(line: str) -> bool:
    """Say whether a line is a mode or a process in the XML of nvidia-smi: it tells how a card is used."""
    return _ELEMENT.fullmatch(line.strip()) is not None


def is_listed(line: str) -> bool:
    """Say whether a line is a row of a list that a command printed, or a command: nobody reports anything."""
    return _LISTED.fullmatch(line.strip()) is not None


def is_heading(line: str) -> bool:
    """Say whether a line only names what the entries below it are of: nobody says anything in it."""
    return _HEADING.fullmatch(line.rstrip()) is not None
