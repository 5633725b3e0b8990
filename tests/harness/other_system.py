"""Systems of dnf, zypper and pacman: Debian's builds of these programs, each in a root of its own.

The root is a copy of a tree that debootstrap made once. Commands run there in namespaces of their own, as
`python -m tests.harness.other_system ROOT COMMAND`, with a network that ends at a server which answers for
every address out of `served/HOST/PATH` of the root. Packages are ours, and carry the names of real ones.
"""

from __future__ import annotations

import functools
import http.server
import os
import pty
import re
import select
import shutil
import ssl
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.contract.checkout import ROOT
from tests.harness.debootstrap import tree

RELEASE = "bookworm"
# two, since dnf's plugins and zypper exclude one another
DNF = "dnf,dnf-plugins-core,rpm,createrepo-c,python3"
OTHERS = "zypper,rpm,createrepo-c,pacman-package-manager,makepkg,libarchive-tools,python3"
HOSTS = ("dl.fedoraproject.org", "mirrors.rpmfusion.org", "developer.download.nvidia.com",
         "download.nvidia.com")
LOG = "/fix.log"
_SECONDS = 120
_UNHEARD_SECONDS = 5.0
_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_COLOURS = re.compile(rb"\x1b\[[?0-9;]*[A-Za-z]")
# where zypper offers solutions, with (c), the first one removes what is in the way
_PROMPT = re.compile(rb"(\[y/N\]:?|\[Y/n\]|\(y\):|\(c\):) *$")
_SPEC = """Name: {name}
Version: {version}
Release: {release}
{epoch}Summary: a package for tests
License: none
BuildArch: noarch
{more}
%description
It holds nothing.
%files
"""
CARD = {"vendor": "0x10de", "device": "0x2684", "class": "0x030000"}  # an RTX 4090
KERNEL = "6.12.0-1.x86_64"


@dataclass(frozen=True)
class Rpm:
    """A package, VERSION being EPOCH:VERSION-RELEASE, in a folder of what is served."""

    folder: str
    name: str
    version: str
    more: str = ""
    file: str = "%%{NAME}-%%{VERSION}-%%{RELEASE}.rpm"


def unavailable() -> str:
    """Return why no such system can be made here, "" where one can."""
    missing = [name for name in ("debootstrap", "unshare", "openssl", "ip") if shutil.which(name) is None]
    return f"needs root and {' '.join(missing) or 'debootstrap'}" if missing or os.geteuid() else ""


class OtherSystem:
    """A system in a folder, out of a tree with these packages, with a card on its bus and no driver."""

    def __init__(self, folder: Path, packages: str) -> None:
        self.root = folder / "root"
        subprocess.run(["cp", "-a", str(tree("managers", RELEASE, packages)), str(self.root)], check=True)
        names = ",".join(f"DNS:{host}" for host in HOSTS)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=us", "-addext", f"subjectAltName={names}",
                        "-keyout", str(self.root / "key.pem"), "-out", str(self.root / "certificate.pem")],
                       check=True, capture_output=True)
        self.card(CARD)
        self.write("etc/hosts", "".join(f"127.0.0.1 {host}\n" for host in HOSTS))
        self.write("etc/ssl/certs/ca-certificates.crt", (self.root / "certificate.pem").read_text())
        self.write("etc/rpm/macros", "%_dbpath /var/lib/rpm\n%fedora 42\n")  # Debian's is in the user's home
        self.write("usr/local/bin/uname", "#!/bin/sh\n[ $# = 0 ] || [ $1 != -r ] || "
                   f"exec echo {KERNEL}\nexec /bin/uname \"$@\"\n")
        (self.root / "usr/local/bin/uname").chmod(0o755)
        (self.root / "etc/mtab").unlink(missing_ok=True)
        (self.root / "etc/mtab").symlink_to("/proc/self/mounts")  # pacman looks for free space there

    def card(self, identifiers: Mapping[str, str]) -> None:
        """Put a card on the bus, in place of the one there."""
        for name, value in identifiers.items():
            self.write(f"sys/bus/pci/devices/0000:01:00.0/{name}", f"{value}\n")

    def write(self, path: str, text: str) -> None:
        """Write a file of the root, in place of a link, too."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(text)

    def build(self, packages: Sequence[Rpm]) -> None:
        """Build packages into folders of what is served, and make a repository of each folder."""
        script = ""
        for number, one in enumerate(packages):
            epoch, _, rest = one.version.rpartition(":")
            version, _, release = rest.partition("-")
            self.write(f"specs/{number}", _SPEC.format(
                name=one.name, epoch=f"Epoch: {epoch}\n" * bool(epoch), version=version, release=release,
                more=one.more))
            script += (f"rpmbuild --quiet -bb --define '_rpmdir /served/{one.folder}' "
                       f"--define '_build_name_fmt {one.file}' /specs/{number} &&\n")
        self.run(script + " && ".join(
            f"createrepo_c -q /served/{folder}" for folder in sorted({one.folder for one in packages})))

    def run(self, command: str) -> str:
        """Run a command, answer each of its questions with yes, and return what it says."""
        said, code = self.ended(command)
        assert code == 0, f"{command}\n{said}"
        return said

    def ended(self, command: str) -> tuple[str, int]:
        """Run a command in a terminal, and return its words and its code; a restart is not granted."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(ROOT)
            os.execvp("unshare", [
                "unshare", "--mount", "--pid", "--net", "--fork", "--propagation", "private", sys.executable,
                "-m", "tests.harness.other_system", str(self.root), command])
        said, after, answer, answered, until = b"", 0, b"", 0.0, time.monotonic() + _SECONDS
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 0.2)[0]:
                if answer and time.monotonic() - answered > _UNHEARD_SECONDS:
                    os.write(terminal, answer)  # what came before it read its terminal is thrown away
                    answered = time.monotonic()
                continue
            try:
                said += os.read(terminal, 65536)
            except OSError:  # the other side is closed
                break
            if answer and _COLOURS.sub(b"", said[after:]).replace(answer.strip(), b"").strip():
                answer = b""  # it said more than its question's last blank and the echo: it was heard
            plain = _COLOURS.sub(b"", said)
            if not answer and _PROMPT.search(plain):
                answer = b"1\n" if plain.rstrip().endswith(b"(c):") else b"y\n"
                if b"(restart)" in plain[-400:]:
                    answer = b"n\n"
                os.write(terminal, answer)
                after, answered = len(said), time.monotonic()
        os.close(terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if time.monotonic() >= until:
            said += f"\n(not over after {_SECONDS} seconds)".encode()
        return _COLOURS.sub(b"", said).decode(errors="replace"), code

    def apply(self) -> str:
        """Apply the plan of the gpudoctor of this checkout, all but the restart; return what it says."""
        (self.root / LOG[1:]).unlink(missing_ok=True)
        return self.ended(f"python3 -m gpudoctor fix --depth static --apply --log {LOG}")[0]

    def undone(self) -> list[str]:
        """Return the commands with which the log ends that undo what was done, after they were run."""
        lines = (self.root / LOG[1:]).read_text().partition("TO UNDO WHAT WAS DONE, in this order\n")[2]
        commands = [line.strip() for line in lines.partition("\n\n")[0].splitlines() if line.startswith("  ")]
        commands = [command for command in commands if not command.startswith("#")]
        for command in commands:
            self.run(command)
        return commands


class _Served(http.server.SimpleHTTPRequestHandler):
    """Files by host and path."""

    def translate_path(self, path: str) -> str:
        """Return the file that an address stands for."""
        host = self.headers["Host"].partition(":")[0]
        return super().translate_path(f"/{host}{path}")

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing: the terminal belongs to the command."""


def main(root: Path, command: str) -> int:
    """Run a command in the root, in namespaces of which this is the first process."""
    assert os.getpid() == 1, "its mounts are for namespaces of their own"
    site_packages, checkout = sysconfig.get_path("purelib"), root / str(ROOT)[1:]
    checkout.mkdir(parents=True, exist_ok=True)
    terminals = root / "dev/pts"
    for words in (("--bind", root, root), ("--bind", ROOT, checkout), ("-t", "proc", "proc", root / "proc"),
                  ("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", terminals),
                  ("--bind", terminals / "ptmx", root / "dev/ptmx")):
        subprocess.run(["mount", *map(str, words)], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 443), functools.partial(_Served, directory=str(root / "served")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(root / "certificate.pem", root / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    variables = {"HOME": "/root", "PATH": _PATH, "LC_ALL": "C.UTF-8", "TERM": "dumb",
                 "PYTHONPATH": f"{ROOT}:{site_packages}"}
    command_line = ["chroot", str(root), "sh", "-c", command]
    return subprocess.run(command_line, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
