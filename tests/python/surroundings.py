"""What a program sees of its surroundings; its output must be the same with and without a recorder."""
import gc
import multiprocessing
import os
import sys


def child(queue):
    queue.put(("child", [place for place in sys.path if "neurolens" in place or "nlens" in place]))


def main():
    import asyncio
    import json
    import threading
    print(sys.argv, sys.flags.isolated, sys.flags.no_site)
    print(json.__spec__.loader.__class__.__name__, "exec_module" in vars(threading.__spec__.loader),
          "exec_module" in vars(asyncio.__spec__.loader))
    print(os.environ.get("SITE_TOLD"), getattr(sys.modules.get("sitecustomize"), "MINE", None))
    gc.collect()
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(method, queue.get(timeout=60)[0])
        process.join()
        print(process.exitcode)
    try:
        import a_module_that_is_not_there
        print(a_module_that_is_not_there)
    except ImportError as wrong:
        print(wrong)
    sys.exit(7)


if __name__ == "__main__":
    main()
