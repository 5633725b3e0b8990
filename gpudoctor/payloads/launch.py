"""Run a collector where another process lives: `python launch.py ANSWER_FD`, its order on standard input.

The order is one line of JSON, and then the bytes of the stand-alone payload. Only what differs is entered:
the mount, pid and user namespaces of the process, its root, its working folder. There its own interpreter
runs the payload, as its user, with its limit on memory and with no right that it does not have. Nothing of
its environment is laid over this launcher, which may be root: LD_PRELOAD is somebody else's word.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import tempfile

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List

SET_DUMPABLE, CAPABILITY_READ, CAPABILITY_DROP, NO_NEW_PRIVILEGES = 4, 23, 24, 38  # of prctl
CAPABILITIES = 64
NAMESPACES = ("mnt", "pid", "user")  # the last one takes away the right to enter the others


def main(argv: "List[str]") -> int:
    """Go there and become the collector; return the exit status where a child has become it."""
    order = json.loads(sys.stdin.buffer.readline().decode("utf-8"))
    payload = _kept(sys.stdin.buffer.read())
    answer = int(argv[1])
    command = [order["interpreter"], "/proc/self/fd/%d" % payload, "--collect", order["collector"],
               str(answer), order["request"]]
    entered = _enter(order["process"], order["started"])
    for descriptor in (payload, answer):
        os.set_inheritable(descriptor, True)
    if "pid" not in entered:
        return _become(command, order["environment"])
    child = os.fork()  # a pid namespace holds only the children of whoever enters it
    if child == 0:
        os._exit(_become(command, order["environment"]))
    os.close(answer)
    return _end_as(os.waitpid(child, 0)[1])


def _kept(data: bytes) -> int:
    """Return a descriptor of a file without a name that holds the data, and that every user may read."""
    try:
        descriptor = os.memfd_create("gpudoctor")  # type: int
    except (AttributeError, OSError):  # an old Python, or a sandbox that forbids it
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    with os.fdopen(os.dup(descriptor), "wb") as out:
        out.write(data)
    os.fchmod(descriptor, 0o555)
    return descriptor


def _enter(number: int, started: int) -> "List[str]":
    """Enter the namespaces and the root of the process, and take its user's place; return what differed."""
    folder = os.open("/proc/%d" % number, os.O_RDONLY | os.O_DIRECTORY)
    if _read(folder, "stat").rpartition(")")[2].split()[19] != str(started):
        sys.exit("process %d has ended, and another one has its number" % number)
    is_root = os.geteuid() == 0
    limit = _address_space(number)
    differing = [name for name in NAMESPACES if is_root and _differs(folder, "ns/" + name)]
    doors = [os.open("ns/" + name, os.O_RDONLY, dir_fd=folder) for name in differing]
    root = os.open("root", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    where = _opened(folder, "cwd")
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(SET_DUMPABLE, 0, 0, 0, 0)  # nobody in there may take hold of us before we are one of them
    if is_root:
        _set_groups([])
    for name, door in zip(differing, doors):
        if name == "user":
            _change_root(root)
        if system.setns(door, 0) != 0:
            sys.exit("the %s namespace of process %d cannot be entered: %s"
                     % (name, number, os.strerror(ctypes.get_errno())))
    if "user" not in differing:
        _change_root(root)
    _go_to(where)
    if is_root:
        _become_user(system, _read(folder, "status"))
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    return differing


def _change_root(root: int) -> None:
    mine, its = os.stat("/"), os.fstat(root)
    if (mine.st_dev, mine.st_ino) != (its.st_dev, its.st_ino):
        os.fchdir(root)
        os.chroot(".")


def _go_to(where: "Any") -> None:
    """Stand where the process stands; a folder that is closed to us is not worth an end."""
    try:
        if where is None:
            os.chdir("/")
        else:
            os.fchdir(where)
    except OSError:
        os.chdir("/")


def _differs(folder: int, name: str) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) != os.readlink("/proc/self/" + name)
    except OSError:
        return False


def _opened(folder: int, name: str) -> "Any":
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    except OSError:
        return None


def _read(folder: int, name: str) -> str:
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as file:
        return file.read(1 << 16).decode("utf-8", "replace")


def _address_space(number: int) -> "Any":
    try:
        return resource.prlimit(number, resource.RLIMIT_AS)
    except (AttributeError, OSError):
        return None


def _become_user(system: "Any", status: str) -> None:
    """Take on the user and the groups of the process, and lay down every right that it does not have."""
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    allowed = int(lines.get("CapBnd", "0").strip(), 16)
    for number in range(CAPABILITIES):
        if not allowed >> number & 1 and system.prctl(CAPABILITY_READ, number, 0, 0, 0) == 1:
            system.prctl(CAPABILITY_DROP, number, 0, 0, 0)
    _set_groups([int(group) for group in lines.get("Groups", "").split()])
    os.setresgid(*[int(group) for group in lines["Gid"].split()[:3]])
    os.setresuid(*[int(user) for user in lines["Uid"].split()[:3]])
    if lines.get("NoNewPrivs", "").strip() == "1":
        system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _set_groups(groups: "List[int]") -> None:
    try:
        os.setgroups(groups)
    except OSError:  # a user namespace that forbids it; from outside of it, all were laid down before
        pass


def _become(command: "List[str]", environment: "Dict[str, str]") -> int:
    try:
        os.execve(command[0], command, environment)
    except (OSError, ValueError) as error:
        sys.stderr.write("%s cannot be started there: %s\n" % (command[0], error))
        sys.stderr.flush()
    return 127


def _end_as(status: int) -> int:
    """Return the exit status of the child; if a signal ended it, end by the same."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except (OSError, ValueError, KeyError, IndexError) as problem:
        sys.exit("the process cannot be joined: %s" % problem)
