"""Run by Python when it starts under `neurolens run`, which put this folder in front of PYTHONPATH.

Steps out of the way (the program sees its own path and its own sitecustomize), makes `import nlens`
work, and installs the hooks. Nothing here may break the program.
"""
import os
import sys
import time


def _install(folder):
    begun = time.thread_time_ns() if hasattr(time, "thread_time_ns") else 0
    package = os.path.dirname(folder)
    if os.environ.get("NEUROLENS_PYTHON", "off") == "off":
        return
    missing = _missing(package)
    if missing:
        _tell("Python layers, operators and steps: " + missing)
    if sys.version_info >= (3, 6):
        _load(package)
    if not missing:
        from nlens import _hooks
        _hooks.install()
        _hooks.took(time.thread_time_ns() - begun)


def _missing(package):
    """What keeps the C extension from being loaded, and what to do; None: nothing does."""
    version = "%d.%d" % sys.version_info[:2]
    if sys.version_info < (3, 9):
        return "hooks need CPython 3.9 or later, this is %s: use a newer one" % version
    if sys.implementation.name != "cpython":
        return "hooks need CPython, this is %s: use python%s" % (sys.implementation.name, version)
    if "t" in getattr(sys, "abiflags", ""):
        return "hooks need the GIL, and this is a build of %s without it: use python%s" % (version, version)
    from importlib.machinery import EXTENSION_SUFFIXES
    if any(os.path.exists(os.path.join(package, "_capture" + suffix)) for suffix in EXTENSION_SUFFIXES):
        return None
    return "%s is missing: build neurolens with python3-dev installed, or install neurolens-profiler with pip" % (
        os.path.join(package, "_capture.abi3.so"))


def _tell(problem):
    """A line of the recording's coverage, through the recording library; of this module nothing can be loaded."""
    try:
        from ctypes import CDLL, c_char_p
        CDLL(None).nl_capture_python(c_char_p(problem.encode("utf-8")))
    except Exception:
        sys.stderr.write("neurolens: not recorded: %s\n" % problem)


def _load(package):
    """The package beside this hook, and nothing else of the folder it lies in (often a site-packages)."""
    from importlib.util import module_from_spec, spec_from_file_location
    spec = spec_from_file_location("nlens", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
    module = sys.modules["nlens"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["nlens"]
        raise


def _own(name):
    """The sitecustomize that would have been found without us."""
    ours = sys.modules.pop(name)
    try:
        __import__(name)
    except ImportError as wrong:
        if getattr(wrong, "name", name) != name:
            raise
    finally:
        sys.modules.setdefault(name, ours)


_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _folder]
try:
    _install(_folder)
except Exception as _wrong:
    _tell("Python layers, operators and steps: the hooks could not start: %s: %s" % (type(_wrong).__name__, _wrong))
_own(__name__)
