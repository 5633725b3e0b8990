"""The completion of words in real shells: commands, options and what an option takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINES = (("gpudoctor che", "check"), ("gpudoctor lint --form", "--format"),
         ("gpudoctor lint --format sar", "sarif"), ("gpudoctor rules show GPD202", "GPD2020"),
         ("gpudoctor rules show driver-too-o", "driver-too-old"), ("gpudoctor explain GPD202", "GPD2020"),
         ("gpudoctor rules table jax_d", "jax_distributions"), ("gpudoctor check --stages mat", "matmul"),
         ("gpudoctor recommend --framework tens", "tensorflow"))
_BASH = """
eval "$(_GPUDOCTOR_COMPLETE=source_bash gpudoctor)"
COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_gpudoctor_completion gpudoctor
printf '%s\\n' "${COMPREPLY[@]}"
"""
_FISH = "env _GPUDOCTOR_COMPLETE=source_fish gpudoctor | source; complete -C $argv[1]"
# A shell in a terminal of its own, in which the word is typed, then the tabulator, then the line is printed.
_ZSH = r"""
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; autoload -Uz compinit; compinit -u -D"
zpty -w inner 'eval "$(_GPUDOCTOR_COMPLETE=source_zsh gpudoctor)"'
zpty -w inner 'tell() { print -r -- "<<$BUFFER>>"; BUFFER=; zle accept-line }; zle -N tell'
zpty -w inner 'bindkey "^T" tell; echo ready'
zpty -r inner seen $'*\nready*'
zpty -n -w inner "$1"$'\t'
zpty -n -w inner $'\x14'
zpty -r -m inner seen '*<<*>>*'
print -r -- "$seen"
zpty -d inner
"""


def run(*command: str) -> str:
    """Run a shell that finds the gpudoctor under test, and return what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, env={**os.environ, "PATH": path, "TERM": "dumb"}, capture_output=True,
                          text=True, timeout=60, check=True)
    return done.stdout


@pytest.mark.parametrize(("line", "completed"), LINES)
def test_bash(line: str, completed: str) -> None:
    """The one word that fits is offered."""
    assert run("bash", "-c", _BASH, "bash", line).split() == [completed]


def test_a_shell_is_answered_where_no_rules_can_be_read(tmp_path: Path) -> None:
    """With nothing, and without a word of an error in the line that is typed."""
    (tmp_path / "GPDX0001-broken.md").write_text("no page\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", _BASH, "bash", "gpudoctor rules show GPD"], text=True, timeout=60,
                          env={**os.environ, "PATH": path, "GPUDOCTOR_RULES_EXTRA": str(tmp_path)},
                          capture_output=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(("line", "completed"), LINES)
def test_fish(line: str, completed: str) -> None:
    """With what it means beside it."""
    (offered,) = run("fish", "-c", _FISH, line).splitlines()
    assert offered.partition("\t")[0] == completed


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(("line", "completed"), LINES)
def test_zsh(line: str, completed: str) -> None:
    """The line is as if it had been typed."""
    typed = line.rpartition(" ")[0]
    assert f"<<{typed} {completed}" in run("zsh", "-f", "-c", _ZSH, "zsh", line)
