"""Run one collector under this interpreter: `python __main__.py COLLECTOR ANSWER_FD REQUEST_JSON`.

Written for Python 3.6 and newer with nothing but the standard library, because the interpreter is often not
ours. The folder of this file is taken off `sys.path` at once: its module names must never stand before the
patient's.
"""

import os
import sys


def _load_package(folder):
    """Return the payload package, loaded from `folder` under a name that nothing else has."""
    import importlib.util

    name = "gpudoctor_payloads"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return name


def _absolute(path):
    try:
        return os.path.abspath(path)
    except OSError:  # a relative one, and the current folder was removed
        return None


def main(argv):
    """Collect and write one JSON document to the descriptor named in `argv`; return the exit status."""
    folder = os.path.dirname(os.path.abspath(__file__))
    patients = [p for p in sys.path if _absolute(p) != folder]
    sys.dont_write_bytecode = True
    # The standard library goes first while we import: a json.py on PYTHONPATH is a finding and must not
    # stop the finder.
    standard = os.path.dirname(os.path.abspath(os.__file__))
    sys.path[:] = [standard, os.path.join(standard, "lib-dynload")]
    sys.path.extend(patients)  # Python 2 must be able to read this file, so that it can be told its age
    import importlib
    import json

    collector = importlib.import_module(_load_package(folder) + "." + argv[1])
    sys.path[:] = patients
    answer = collector.collect(json.loads(argv[3]) if len(argv) > 3 else {})
    with os.fdopen(int(argv[2]), "wb", closefd=False) as out:
        out.write(json.dumps(answer).encode("utf-8", "backslashreplace"))
    return 0


if __name__ == "__main__":
    if sys.version_info < (3, 6):
        sys.exit("this is Python %d.%d; gpudoctor can look into 3.6 and newer only" % sys.version_info[:2])
    sys.exit(main(sys.argv))
