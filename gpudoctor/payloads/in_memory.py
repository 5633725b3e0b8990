"""Become the stand-alone payload that comes on standard input, without writing it anywhere.

`python -c THIS BYTES OPTION...`: so many bytes are the payload. It lies in memory alone, so that a container
whose files may not be written to can be examined, and one that runs stays as it is.
"""

import os
import sys

MEMFD_CREATE = {"x86_64": 319, "aarch64": 279, "ppc64le": 360, "s390x": 350}


def main(argv):
    """Read the payload and become it; the options are its own."""
    wanted = int(argv[1])
    data = bytearray()
    while len(data) < wanted:
        piece = os.read(0, min(1 << 16, wanted - len(data)))
        if not piece:
            sys.exit("the payload did not arrive: %d of %d bytes" % (len(data), wanted))
        data += piece
    descriptor = unnamed_file()
    while data:
        del data[:os.write(descriptor, data)]
    os.set_inheritable(descriptor, True)
    # by this path its children find it, too, who do not inherit it
    path = "/proc/%d/fd/%d" % (os.getpid(), descriptor)
    command = [sys.executable, path]
    command.extend(argv[2:])  # Python 2 must be able to read this file, so that it can be told its age
    os.execv(sys.executable, command)


def unnamed_file():
    """Return the descriptor of a file in memory; Python has the call since 3.8."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gpudoctor", 0)
    import ctypes

    number = MEMFD_CREATE.get(os.uname().machine)
    descriptor = -1 if number is None else ctypes.CDLL(None).syscall(number, b"gpudoctor", 0)
    if descriptor < 0:
        sys.exit("there is no way here to keep the payload in memory")
    return descriptor


if __name__ == "__main__":
    if sys.version_info < (3, 6):
        sys.exit("this is Python %d.%d; gpudoctor can look into 3.6 and newer only" % sys.version_info[:2])
    main(sys.argv)
