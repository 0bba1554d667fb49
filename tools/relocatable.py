#!/usr/bin/env python3
"""Makes neurolens-VERSION-linux-ARCHITECTURE.tar.gz out of a wheel: the same program and libraries without Python, which run where they are
unpacked or are put into any folder by install.sh (docs/packages.md). tools/release.py calls it.

    tools/relocatable.py WHEEL FOLDER     writes the archive into FOLDER; the same wheel and tree give the same bytes
"""
import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile

import dist_info

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "build", "neurolens")  # writes its man page and completions
PKG_CONFIG = """prefix=${pcfiledir}/../..
includedir=${prefix}/include
libdir=${prefix}/lib

Name: neurolens-engine
Description: Reads profiles of ML programs: answers, SQL as Arrow, exports
Version: %s
Libs: -L${libdir} -lneurolens
Cflags: -I${includedir}
"""


def tracked(folder):
    """Files of git below a folder, so that nothing else of a machine comes along."""
    out = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    return sorted(name for name in out.split("\0") if name)


def content_of(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


def written_by_program(what):
    return subprocess.run([PROGRAM, "completion", what], stdout=subprocess.PIPE, check=True).stdout


def from_wheel(path, put):
    """The program, the recorder, the library, the Python package and the lists of what is inside."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name, mode = entry.filename, 0o755 if entry.external_attr >> 16 & 0o100 else 0o644
            if name.endswith(".data/scripts/neurolens"):
                put("bin/neurolens", archive.read(entry), 0o755)
            elif name == "nlens/libneurolens-capture.so":
                put("lib/neurolens/libneurolens-capture.so", archive.read(entry), 0o644)
            elif name == "nlens/libneurolens.so.0":
                put("lib/libneurolens.so.0", archive.read(entry), 0o644)
            elif name.startswith("nlens/include/"):
                put("include/" + os.path.basename(name), archive.read(entry), 0o644)
            elif name.startswith("nlens/"):
                put("lib/neurolens/python/" + name, archive.read(entry), 0o644 if name.endswith(".so") else mode)
            elif "/licenses/" in name or "/sboms/" in name:
                put("share/doc/neurolens/" + os.path.basename(name), archive.read(entry), 0o644)


def files_of(wheel, version):
    """{place: (content, mode)}; a content that is a str is where a link leads."""
    files = {}

    def put(place, content, mode=0o644):
        files[place] = (content, mode)
    from_wheel(wheel, put)
    if "lib/libneurolens.so.0" in files:
        put("lib/libneurolens.so", "libneurolens.so.0")
        put("lib/pkgconfig/neurolens-engine.pc", (PKG_CONFIG % version).encode())
        for name, more in (("neurolens-config", {"libdir": "${CMAKE_CURRENT_LIST_DIR}/../..", "includedir": "${CMAKE_CURRENT_LIST_DIR}/../../../include"}),
                           ("neurolens-config-version", {})):
            text = content_of("src/engine/%s.cmake.in" % name).decode()
            text = re.sub("@(%s)@" % "|".join(["version"] + list(more)), lambda found: dict(more, version=version)[found.group(1)], text)
            put("lib/cmake/neurolens/%s.cmake" % name, text.encode())
    for place, what in (("man/man1/neurolens.1", "man"), ("bash-completion/completions/neurolens", "bash"),
                        ("zsh/site-functions/_neurolens", "zsh"), ("fish/vendor_completions.d/neurolens.fish", "fish")):
        put("share/" + place, written_by_program(what))
    for name in tracked("agent"):
        put("share/neurolens/" + name, content_of(name))
    for name in ["README.md", "CHANGELOG.md"] + tracked("docs") + tracked("examples"):
        put("share/doc/neurolens/" + name, content_of(name))
    return files


def add(archive, name, content, mode, date):
    entry = tarfile.TarInfo(name)
    entry.mtime, entry.mode = date, mode
    if isinstance(content, str):
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, content, 0o777
        archive.addfile(entry)
    else:
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))


def make(wheel, folder, date, effort=9):
    """The path of the archive; effort: of gzip, 1 to 9."""
    version = dist_info.version()
    top = "neurolens-%s-linux-%s" % (version, re.search(r"_(x86_64|aarch64)\.whl$", wheel).group(1))
    files, memory = files_of(wheel, version), io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        add(archive, top + "/install.sh", content_of("tools/install.sh"), 0o755, date)
        add(archive, top + "/LICENSE", content_of("LICENSE"), 0o644, date)
        add(archive, top + "/files", "".join(name + "\n" for name in sorted(files)).encode(), 0o644, date)
        for name, (content, mode) in sorted(files.items()):
            add(archive, "%s/%s" % (top, name), content, mode, date)
    path = os.path.join(folder, top + ".tar.gz")
    with open(path, "wb") as file, gzip.GzipFile("", "wb", effort, file, 0) as packed:
        packed.write(memory.getvalue())
    return path


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(make(sys.argv[1], sys.argv[2], int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))))


if __name__ == "__main__":
    main()
