"""Run by Python when it starts under `neurolens run`, which put this folder in front of PYTHONPATH.

Steps out of the way (the program sees its own path and its own sitecustomize), makes `import neurolens`
work, and installs the hooks. Nothing here may break the program.
"""
import os
import sys


def _install(folder):
    package = os.path.join(os.path.dirname(folder), "neurolens")
    if os.environ.get("NEUROLENS_PYTHON", "off") == "off":
        return
    from importlib.machinery import EXTENSION_SUFFIXES
    if not any(os.path.exists(os.path.join(package, "_capture" + suffix)) for suffix in EXTENSION_SUFFIXES):
        if not os.environ.get("NEUROLENS_PYTHON_TOLD"):
            os.environ["NEUROLENS_PYTHON_TOLD"] = "1"
            sys.stderr.write("neurolens: Python functions and layers are not recorded: built without Python %d.%d\n" %
                             sys.version_info[:2])
        return
    sys.path.append(os.path.dirname(folder))
    from neurolens import _hooks
    _hooks.install()


def _own(name):
    """The sitecustomize that would have been found without us."""
    ours = sys.modules.pop(name)
    try:
        __import__(name)
    except ImportError as wrong:
        if wrong.name != name:
            raise
    finally:
        sys.modules.setdefault(name, ours)


_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _folder]
try:
    _install(_folder)
except Exception as _wrong:
    sys.stderr.write("neurolens: the Python part could not start: %s: %s\n" % (type(_wrong).__name__, _wrong))
_own(__name__)
