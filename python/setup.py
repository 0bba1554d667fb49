"""`pip install ./python` for interpreters that `make` does not know; the metadata is in pyproject.toml."""
from setuptools import Extension, setup

SOURCES = ["src/capturemodule.c", "src/pycalls.c", "src/pyheap.c", "src/pyinside.c", "src/pytasks.c", "src/pytrace.c", "src/scopetype.c", "src/torchobserver.c"]
setup(ext_modules=[Extension("nlens._capture", SOURCES, include_dirs=["../include", "../src/capture/python"], py_limited_api=True,
                             depends=["src/pycapture.h", "src/pyinside.h", "src/pytrace.h", "../include/neurolens.h"], extra_compile_args=["-O2"])])
