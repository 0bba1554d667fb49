"""Run by Python when it starts under `neurolens run`, which put this folder in front of PYTHONPATH.

Steps out of the way (the program sees its own path and its own sitecustomize), makes `import nlens`
work, and installs the hooks. Nothing here may break the program.
"""
import os
import sys


def _install(folder):
    package = os.path.dirname(folder)
    if os.environ.get("NEUROLENS_PYTHON", "off") == "off":
        return
    from importlib.machinery import EXTENSION_SUFFIXES
    if not any(os.path.exists(os.path.join(package, "_capture" + suffix)) for suffix in EXTENSION_SUFFIXES):
        if not os.environ.get("NEUROLENS_PYTHON_TOLD"):
            os.environ["NEUROLENS_PYTHON_TOLD"] = "1"
            sys.stderr.write("neurolens: Python functions and layers are not recorded: built without Python %d.%d\n" %
                             sys.version_info[:2])
        return _load(package)
    _load(package)
    from nlens import _hooks
    _hooks.install()


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
