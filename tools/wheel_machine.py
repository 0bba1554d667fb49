"""The machines that a wheel is made for (tools/wheel.py): which compiler, which libraries, where they come from.

This machine takes what is installed. Another one gets a compiler and Debian's libraries for it, unpacked into its build folder:
nothing is installed, and no emulator runs while it builds.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

from wheel_libraries import fetched, run, say, unpacked

# Debian's name of each machine; only these two have a tag of manylinux_2_28 that people use.
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
COMPILER = ["gcc-12-%(triple)s", "cpp-12-%(triple)s", "binutils-%(triple)s", "libgcc-12-dev-%(debian)s-cross"]
LIBRARIES = ["libbsd-dev", "libc6", "libc6-dev", "libcrypt-dev", "libdw-dev", "libedit-dev", "libelf-dev", "libgcc-12-dev", "libgcc-s1", "libiberty-dev", "libisal-dev",
             "libisal2", "libjansson-dev", "libmd-dev", "libncurses-dev", "libncursesw6", "libpython3.11-dev", "libsqlite3-dev", "libssl-dev",
             "libtinfo6", "libyaml-dev", "libzstd-dev", "libzstd1", "linux-libc-dev", "zlib1g-dev"]
CROSS_FILE = """[binaries]
c = %(cc)r
ar = %(ar)r
strip = %(strip)r
objcopy = %(objcopy)r
pkgconfig = %(pkg-config)r
[host_machine]
system = 'linux'
cpu_family = %(name)r
cpu = %(name)r
endian = 'little'
"""


class Here:
    """This machine, with the compiler and libraries that are installed."""

    def __init__(self):
        self.name, self.build, self.cross = os.uname().machine, "build-wheel", False
        self.cc, self.ar, self.strip, self.objdump = ["cc"], ["ar"], ["strip"], ["objdump"]
        self.setup, self.configure, self.includes = [], [], "/usr/include"

    def made(self):
        return True

    def version_of(self, package):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip() or "unknown"

    def copyright_of(self, package):
        return "/usr/share/doc/%s/copyright" % package


class Other:
    """Another machine: all of it lies below its build folder."""

    def __init__(self, name):
        self.name, self.build, self.cross = name, "build-wheel-" + name, True
        self.triple = name + "-linux-gnu"
        self.tools, self.libraries = (os.path.abspath(os.path.join(self.build, part)) for part in ("compiler", "libraries"))
        self.root = os.path.join(self.libraries, "root")
        self.tool = {name: os.path.join(self.tools, "bin", name) for name in ("cc", "ar", "ranlib", "strip", "objdump", "objcopy", "readelf", "pkg-config")}
        self.cc, self.ar, self.strip, self.objdump = ([self.tool[name]] for name in ("cc", "ar", "strip", "objdump"))
        self.configure = ["--host=" + self.triple] + ["%s=%s" % (name.upper(), self.tool[name]) for name in ("cc", "ar", "ranlib", "readelf")]
        self.includes = os.path.join(self.root, "usr", "include")
        self.setup = ["--cross-file", os.path.join(self.tools, "meson.ini"), "-Dwerror=true",
                      "-Dpython_headers=" + os.path.join(self.includes, "python3.11")]
        self.versions = {}

    def made(self):
        """False, with the reason said, when Debian's packages cannot be had."""
        if not os.path.exists(os.path.join(self.tools, "meson.ini")):
            shutil.rmtree(self.build, ignore_errors=True)
            os.makedirs(self.build)
            say("fetching a compiler for %s and Debian's libraries into %s" % (self.name, self.build))
            names = [name % {"triple": self.triple.replace("_", "-"), "debian": DEBIAN_NAMES[self.name]} for name in COMPILER]
            if not fetched(self.tools, ["download"] + names, release="bookworm") or \
                    not fetched(self.libraries, ["download"] + LIBRARIES, release="bookworm", architecture=DEBIAN_NAMES[self.name]):
                return False
            self.write_tools(unpacked(self.tools)["LD_LIBRARY_PATH"])
            unpacked(self.libraries)
            for path in glob.glob(os.path.join(self.root, "usr", "lib", "*", "pkgconfig", "*.pc")):
                with open(path) as file:
                    text = file.read()
                with open(path, "w") as file:
                    file.write(re.sub(r"(=|-I|-L)/usr\b", r"\1%s/usr" % self.root, text))
            with open(os.path.join(self.tools, "meson.ini"), "w") as file:
                file.write(CROSS_FILE % dict(self.tool, name=self.name))
        for path in glob.glob(os.path.join(self.libraries, "*.deb")):
            package, version, _ = os.path.basename(path)[:-len(".deb")].split("_")
            self.versions[package] = version.replace("%3a", ":")
        return True

    def write_tools(self, libraries):
        """Each tool under its plain name, with what it needs to find its own parts and the other machine's."""
        os.makedirs(os.path.join(self.tools, "bin"), exist_ok=True)
        own = os.path.join(self.tools, "root", "usr", "bin", self.triple)
        found = "%s/usr/lib/%s/pkgconfig:%s/usr/share/pkgconfig" % (self.root, self.triple, self.root)
        words = {"cc": "exec %s-gcc-12 --sysroot=%s" % (own, self.root), "pkg-config": "PKG_CONFIG_LIBDIR=%s exec pkg-config" % found}
        words.update((tool, "exec %s-%s" % (own, tool)) for tool in self.tool if tool not in words)
        for name, how in words.items():
            path = os.path.join(self.tools, "bin", name)
            with open(path, "w") as file:
                file.write('#!/bin/sh\nexport LD_LIBRARY_PATH=%s\n%s "$@"\n' % (libraries, how))
            os.chmod(path, 0o755)

    def version_of(self, package):
        return self.versions.get(package, "unknown")

    def copyright_of(self, package):
        return os.path.join(self.root, "usr", "share", "doc", package, "copyright")


def machine(name):
    """The machine of that name; ends this program when no wheel is made for it."""
    if name not in DEBIAN_NAMES:
        sys.exit("wheel: there are wheels for %s; not for %s" % (" and ".join(DEBIAN_NAMES), name))
    return Here() if name == os.uname().machine else Other(name)
