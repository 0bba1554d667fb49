"""How often a name is given to static functions of src: the rule static_names of tools/lint.py.

Who searches for a function whose name is a bare verb, such as `put`, finds a file for each letter of the alphabet; verb and object
(`put_csv_text`) lead to the one that is meant.
"""
import collections
import re

MAX_FILES = 8
# Comparisons for sorting are by_ and what they sort by.
SAME_IDEA = {"report_coverage": "what a reader could not load, or had to repair"}
STATIC = re.compile(r"^(?:NL_\w+ )?static\b(?:__attribute__\(\(\w+(?:\([^)]*\))?\)\)|[^;{}()=])*?\b(\w+)\([^;{}]*\)\s*\{", re.M)


def rule(sources, code_of):
    def static_names():
        """a static function's name stands in at most 8 files"""
        files = collections.defaultdict(set)
        for path in sources():
            for name in STATIC.findall(code_of(path)):
                files[name].add(path)
        breaches = ["tools/staticnames.py: %s needs no exception" % name for name in SAME_IDEA if len(files[name]) <= MAX_FILES]
        return breaches + ["%d files have a static function %s: say in the name what it works on: %s" % (len(paths), name, ", ".join(sorted(paths)))
                           for name, paths in sorted(files.items()) if len(paths) > MAX_FILES and not name.startswith("by_") and name not in SAME_IDEA]
    return static_names
