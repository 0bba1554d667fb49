/* Checks of the kernel and the processor. */
#include "cli/doctorkernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/native/perfring.h"

void nl_checked_say(struct nl_checked *checked, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(checked->found, sizeof checked->found, format, list);
    va_end(list);
}

/* A number that stands alone in a file; false when there is no such file. */
static bool read_number_file(const char *path, long *number)
{
    FILE *file = fopen(path, "r");
    bool read = file && fscanf(file, "%ld", number) == 1;
    if (file)
        fclose(file);
    return read;
}

void nl_doctor_perf(struct nl_call *call, struct nl_checked *checked)
{
    char text[NL_CHECKED_TEXT / 2];
    long level = 0;
    (void)call;
    checked->good = perfring_probe(text, sizeof text);
    if (read_number_file("/proc/sys/kernel/perf_event_paranoid", &level))
        nl_checked_say(checked, "%s; perf_event_paranoid %ld", text, level);
    else
        nl_checked_say(checked, "%s", text);
    if (!checked->good && level <= 2)
        checked->unlock = "a kernel with CONFIG_PERF_EVENTS; in a container a seccomp profile that "
                          "allows perf_event_open, or CAP_PERFMON";
}

void nl_doctor_ptrace(struct nl_call *call, struct nl_checked *checked)
{
    static const char *const means[] = {"any own process", "children and those that allow it",
                                        "root only", "nobody"};
    long level = 0;
    (void)call;
    checked->good = true;
    if (!read_number_file("/proc/sys/kernel/yama/ptrace_scope", &level)) {
        nl_checked_say(checked, "not restricted");
        return;
    }
    checked->good = level <= 1 || (level == 2 && geteuid() == 0);
    nl_checked_say(checked, "%ld: %s", level, level >= 0 && level <= 3 ? means[level] : "unknown");
}

#ifdef __aarch64__
void nl_doctor_tsc(struct nl_call *call, struct nl_checked *checked)
{
    (void)call;
    checked->good = true;
    nl_checked_say(checked, "the ARM counter is constant by design");
}
#else
static bool cpu_flag(const char *flag)
{
    char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, flag);
    if (file)
        fclose(file);
    return found;
}

void nl_doctor_tsc(struct nl_call *call, struct nl_checked *checked)
{
    (void)call;
    checked->good = cpu_flag(" constant_tsc") && cpu_flag(" nonstop_tsc");
    nl_checked_say(checked, "%s",
                   checked->good ? "constant and never stopping" : "not known to be invariant");
}
#endif
