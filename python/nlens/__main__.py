"""``python -m nlens …`` is ``neurolens …``: this process becomes the command."""
import os
import sys

from ._engine import NeuroLensError, program


def main() -> None:
    try:
        path = program()
        os.execv(path, [path] + sys.argv[1:])
    except (NeuroLensError, OSError) as wrong:
        sys.stderr.write("neurolens: %s\n" % wrong)
        sys.exit(5)


main()
