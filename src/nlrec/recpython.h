/*
 * recpython — what a process says of the Python interpreter in it, in the head of its recording
 * (recformat.h): that there is one, whether the package's hooks are installed, and what kept them
 * off. Bits, set from inside.
 */
#ifndef NL_RECPYTHON_H
#define NL_RECPYTHON_H

/* What is known of Python in the process, from inside. */
enum nl_rec_python {
    NL_REC_PYTHON_HERE = 1,      /* an interpreter */
    NL_REC_PYTHON_HOOKED = 2,    /* the package's hooks are installed, or said why not */
    NL_REC_PYTHON_ISOLATED = 4,  /* options of the interpreter that keep hooks off: -I, */
    NL_REC_PYTHON_NO_ENV = 8,    /* -E, */
    NL_REC_PYTHON_NO_SITE = 16,  /* -S */
    NL_REC_PYTHON_NO_PATH = 32,  /* PYTHONPATH does not name the hooks */
    NL_REC_PYTHON_RUNS_NONE = 64 /* --version, --help: it runs no program */
};

#endif
