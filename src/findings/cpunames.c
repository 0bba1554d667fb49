/* cpunames — see cpunames.h. */
#include "findings/cpunames.h"

#include "findings/bookcause.h"

/* "read (codec.py:12)", "codec.py(12): read": Python tracers write the place only of Python
 * functions. */
static bool has_place(struct nl_str name)
{
    for (size_t i = 0; i + 3 < name.len; i++)
        if (!memcmp(name.ptr + i, ".py", 3) && strchr(":(", name.ptr[i + 3]))
            return true;
    return false;
}

bool nl_is_builtin(struct nl_str name)
{
    return nl_str_starts(name, "<built-in ") || nl_str_starts(name, "<method '") ||
           nl_str_starts(name, "builtins.");
}

static bool shows_builtins(const struct nl_trace *trace)
{
    for (uint32_t id = 1; id < trace->names.count; id++)
        if (nl_is_builtin(nl_trace_name(trace, id)) ||
            nl_str_is(nl_trace_name(trace, id), "<built-in>"))
            return true;
    return false;
}

/* A function of that name in a file, among the frames. */
static bool is_in_file(const struct nl_trace *trace, struct nl_str name)
{
    const struct nl_stack_table *stack = &trace->stack;
    for (uint32_t row = 0; row < stack->rows; row++) {
        struct nl_str file = nl_trace_name(trace, stack->file[row]);
        if (file.len && !nl_str_is(file, "<built-in>") &&
            nl_str_eq(nl_trace_name(trace, stack->name[row]), name))
            return true;
    }
    return false;
}

/* Where built-in functions are shown apart, what reads is among them, and the own time of a
 * function of Python is that of its lines. */
static bool is_own_python(const struct nl_trace *trace, struct nl_str name)
{
    return !nl_is_builtin(name) && (has_place(name) || is_in_file(trace, name)) &&
           shows_builtins(trace);
}

bool nl_is_file_io(const struct nl_trace *trace, struct nl_str name)
{
    static const char *const words[] = {
        "read",     "pread",    "pread64",   "readv",     "write",           "pwrite",
        "pwrite64", "writev",   "fsync",     "fdatasync", "sync_file_range", "recv",
        "recvfrom", "recvmsg",  "recv_into", "send",      "sendall",         "sendto",
        "sendmsg",  "open",     "openat",    "fopen",     "fread",           "fwrite",
        "fflush",   "readinto", "readline",  "readlines", "read_bytes",      "read_text",
        "flush",    "print",    "urlopen",   "ReadFile",  "WriteFile"};
    return nl_marks_end(NL_MARKS(words), name) && !is_own_python(trace, name);
}
