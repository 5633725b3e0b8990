"""Run one collector under this interpreter: `python __main__.py COLLECTOR ANSWER_FD REQUEST`.

A collector answers once, at its end, or (with a function `journal`) writes a line whenever it knows more.

Written for Python 3.6 and newer with nothing but the standard library, because the interpreter is often not
ours. The folder of this file is taken off `sys.path` at once: its module names must never stand before the
patient's.
"""

import atexit
import os
import sys

LAST_SECONDS, LIMITS = 60.0, 4  # the end for good: so many times what a collector was given, or this

def _make_package(folder):
    """Make `folder` a package under a name that nothing else has, without importlib.util, which is slow."""
    package = type(sys)("gpudoctor_payloads")
    package.__path__ = [folder]
    sys.modules[package.__name__] = package
    return package.__name__


def _absolute(path):
    try:
        return os.path.abspath(path)
    except (OSError, TypeError):  # a relative one, and the current folder was removed; or no text at all
        return None


def main(argv):
    """Collect and write the answer to the descriptor named in `argv`."""
    folder = os.path.dirname(os.path.abspath(__file__))
    patients = [p for p in sys.path if _absolute(p) != folder]
    sys.dont_write_bytecode = True
    # The standard library goes first while we import: a json.py on PYTHONPATH is a finding and must not
    # stop the finder.
    standard = os.path.dirname(os.path.abspath(os.__file__))
    sys.path[:] = [standard, os.path.join(standard, "lib-dynload")]
    sys.path.extend(patients)  # Python 2 must be able to read this file, so that it can be told its age
    name = _make_package(folder) + "."
    __import__(name + "answering")
    answering = sys.modules[name + "answering"]
    request, written = answering.limit_alone(argv[3:]), answering.dumps
    if request is None:  # before the collector, which needs `re` from deeper down: the limit may be lowered
        import json

        request = json.loads(argv[3])
        written = json.JSONEncoder(default=str).encode  # it is there by now, and faster
    __import__(name + argv[1])
    collector = sys.modules[name + argv[1]]
    sys.path[:] = patients
    _end_at_last(request)
    if hasattr(collector, "journal"):
        collector.journal(request, int(argv[2]))
    else:
        os.write(int(argv[2]), b" ")  # the collector is reached: what ends it from here on is its own doing
        answer = collector.collect(request)
        with os.fdopen(int(argv[2]), "wb", closefd=False) as out:
            out.write(written(answer).encode("utf-8", "backslashreplace"))
    _leave()


def _leave():
    """End at once: all is said, and a framework takes most of a second to give back what the system takes.

    What it registered for the end is done, for that may remove files. Threads are not waited for.
    """
    try:
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    except BaseException:  # noqa: BLE001 - whatever a stranger raises at the end: all is said
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed, or replaced by the framework
            pass
    os._exit(0)


def _end_at_last(request):
    """Have this process ended long after its limit: whoever started it may have been killed and cannot."""
    import faulthandler

    within = request.get("answer_within_seconds") if isinstance(request, dict) else None
    seconds = within if isinstance(within, (int, float)) and 0 < within < 86400 else LAST_SECONDS
    try:
        faulthandler.dump_traceback_later(LIMITS * seconds, exit=True, file=2)
    except (RuntimeError, ValueError):  # no more threads
        pass


if __name__ == "__main__":
    if sys.version_info < (3, 6):
        sys.exit("this is Python %d.%d; gpudoctor can look into 3.6 and newer only" % sys.version_info[:2])
    main(sys.argv)
