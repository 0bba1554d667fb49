/* cpunames — see cpunames.h. */
#include "findings/cpunames.h"

#include "findings/bookcause.h"

bool nl_is_file_io(struct nl_str name)
{
    static const char *const words[] = {
        "read",     "pread",    "pread64",   "readv",     "write",           "pwrite",
        "pwrite64", "writev",   "fsync",     "fdatasync", "sync_file_range", "recv",
        "recvfrom", "recvmsg",  "recv_into", "send",      "sendall",         "sendto",
        "sendmsg",  "open",     "openat",    "fopen",     "fread",           "fwrite",
        "fflush",   "readinto", "readline",  "readlines", "read_bytes",      "read_text",
        "flush",    "print",    "urlopen",   "ReadFile",  "WriteFile"};
    return nl_marks_end(NL_MARKS(words), name);
}
