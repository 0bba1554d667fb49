/* loader LIBRARY: loads it, calls it and unloads it, a hundred times. */
#include <neurolens.h>
#include <dlfcn.h>

int main(int argc, char **argv)
{
    for (int i = 0; argc > 1 && i < 100; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*run)(void) = 0;
        if (library)
            *(void **)&run = dlsym(library, "plugin_run");
        if (!run)
            return 2;
        NL_SCOPE("around");
        run();
        dlclose(library);
    }
    return 0;
}
