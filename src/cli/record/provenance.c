/* Each fact from where the system keeps it; nothing is asked over a network. */
#define _GNU_SOURCE
#include "base/signalname.h"
#include "cli/record/provenance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/hostfacts.h"
#include "cli/record/gitfacts.h"
#include "cli/record/pythonfacts.h"
#include "cli/record/runreport.h"
#include "derive/reccost.h"
#include "nlrec/recformat.h"
#include "redact/redact.h"

#define MAX_TEXT 4096

static void put_fact(FILE *out, const char *key, const char *value)
{
    struct nl_buf safe;
    if (!value || !*value)
        return;
    nl_buf_init(&safe, (size_t)1 << 20);
    nl_redact_text(&safe, nl_str(value));
    for (size_t i = 0; i < safe.len; i++)
        if ((unsigned char)safe.ptr[i] < ' ')
            safe.ptr[i] = ' ';
    fprintf(out, "%s\t%.*s\n", key, (int)nl_utf8_cut(safe.ptr, safe.len, MAX_TEXT),
            safe.len ? safe.ptr : "");
    nl_buf_release(&safe);
}

/* Words as a shell would take them. */
static void put_command(FILE *out, char *const *argv, int count)
{
    struct nl_buf line;
    nl_buf_init(&line, (size_t)1 << 16);
    for (int i = 0; i < count; i++) {
        nl_buf_text(&line, i ? " " : "");
        nl_buf_shell_word(&line, nl_str(argv[i]));
    }
    put_fact(out, "run.command", line.ptr);
    nl_buf_release(&line);
}

/* The first of these that is set, with a second one appended where the first is a beginning. */
static const struct {
    const char *key, *variable, *before, *middle_variable, *middle, *end_variable;
} variables[] = {
    {"run.scheduler_job", "SLURM_JOB_ID", "slurm ", NULL, NULL, NULL},
    {"run.scheduler_job", "PBS_JOBID", "pbs ", NULL, NULL, NULL},
    {"run.scheduler_job", "LSB_JOBID", "lsf ", NULL, NULL, NULL},
    {"run.scheduler_job", "FLUX_JOB_ID", "flux ", NULL, NULL, NULL},
    {"run.ci_url", "GITHUB_SERVER_URL", "", "GITHUB_REPOSITORY", "/actions/runs/", "GITHUB_RUN_ID"},
    {"run.ci_url", "CI_JOB_URL", "", NULL, NULL, NULL},
    {"run.ci_url", "BUILD_URL", "", NULL, NULL, NULL},
    {"run.ci_url", "BUILDKITE_BUILD_URL", "", NULL, NULL, NULL},
    {"run.ci_url", "CIRCLE_BUILD_URL", "", NULL, NULL, NULL},
    {"run.image", "NEUROLENS_IMAGE", "", NULL, NULL, NULL},
    {"run.image", "CI_JOB_IMAGE", "", NULL, NULL, NULL},
};

static void put_variables(FILE *out)
{
    char text[MAX_TEXT];
    const char *done = "";
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i].variable), *middle = "", *end = "";
        if (!value || !*value || strcmp(done, variables[i].key) == 0)
            continue;
        if (variables[i].middle_variable) {
            middle = getenv(variables[i].middle_variable);
            end = getenv(variables[i].end_variable);
            if (!middle || !end)
                continue;
        }
        snprintf(text, sizeof text, "%s%.1000s%s%.500s%s%.200s", variables[i].before, value,
                 *middle ? "/" : "", middle, *middle ? variables[i].middle : "", end);
        put_fact(out, variables[i].key, text);
        done = variables[i].key;
    }
}

/* The first line of a small file, without its end. */
static const char *first_line(const char *path, char text[MAX_TEXT])
{
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, MAX_TEXT, file);
    if (file)
        fclose(file);
    if (!got)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static void put_container(FILE *out)
{
    static const struct {
        const char *path, *name;
    } marks[] = {{"/.dockerenv", "docker"},
                 {"/run/.containerenv", "podman"},
                 {"/singularity", "singularity"},
                 {"/.singularity.d", "apptainer"}};
    const char *pod = getenv("KUBERNETES_SERVICE_HOST");
    if (pod && *pod) {
        put_fact(out, "run.container", "kubernetes");
        return;
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (access(marks[i].path, F_OK) == 0) {
            put_fact(out, "run.container", marks[i].name);
            return;
        }
}

static void put_machine(FILE *out)
{
    struct nl_rundoc_setting host[NL_HOST_FACTS];
    struct nl_arena arena;
    struct passwd entry, *user = NULL;
    char text[MAX_TEXT], name[256] = "", folder[MAX_TEXT];
    nl_arena_init(&arena);
    size_t count = nl_host_facts(host, &arena);
    for (size_t i = 0; i < count; i++)
        put_fact(out, host[i].key, host[i].value);
    if (gethostname(name, sizeof name - 1) == 0)
        put_fact(out, "hardware.host_name", name);
    put_fact(out, "hardware.driver_version", first_line("/sys/module/nvidia/version", text));
    put_fact(out, "hardware.driver_version", first_line("/sys/module/amdgpu/version", text));
    if (getpwuid_r(getuid(), &entry, text, sizeof text, &user) == 0 && user)
        put_fact(out, "run.user", user->pw_name);
    if (getcwd(folder, sizeof folder))
        put_fact(out, "run.working_folder", folder);
    nl_arena_free(&arena);
}

static FILE *open_facts(const char *parts, int flags)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    int fd = open(nl_arena_format(&arena, "%s/%s", parts, NL_REC_FACTS),
                  O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    nl_arena_free(&arena);
    return fd >= 0 ? fdopen(fd, "a") : NULL;
}

bool nl_provenance_busy(const char *parts)
{
    FILE *facts = open_facts(parts, 0);
    bool busy = facts && flock(fileno(facts), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (facts)
        fclose(facts);
    return busy;
}

int nl_provenance_begin(const char *parts, char *const *argv, int count)
{
    FILE *out = open_facts(parts, O_CREAT | O_EXCL);
    if (!out)
        return -1;
    int held = fcntl(fileno(out), F_DUPFD_CLOEXEC, 0);
    if (held >= 0)
        (void)flock(held, LOCK_EX | LOCK_NB);
    if (count)
        put_command(out, argv, count);
    put_machine(out);
    put_variables(out);
    put_container(out);
    struct git_facts git;
    nl_git_facts(&git);
    put_fact(out, "run.git_commit", git.commit);
    put_fact(out, "run.git_branch", git.branch);
    put_fact(out, "run.git_dirty", git.dirty < 0 ? NULL : git.dirty ? "true" : "false");
    if (count)
        nl_python_facts(out, argv[0]);
    fclose(out);
    return held;
}

static void put_number(FILE *out, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    put_fact(out, key, text);
}

static void put_hooks(FILE *out, const struct nl_recorder_report *report)
{
#define NL_REC_HOOK(identifier, word, what) NL_RECCOST_HOOK word,
    static const char *const keys[] = {
#include "nlrec/rechooks.def"
    };
#undef NL_REC_HOOK
    char text[32];
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++) {
        snprintf(text, sizeof text, "%.3f", (double)report->hook_ps[i] / 1000);
        if (report->hook_ps[i])
            put_fact(out, keys[i], text);
    }
}

/* Members of the document's "recorder"; others follow from what each process reports. */
static void put_costs(FILE *out, const struct nl_recorder_report *report)
{
    char text[32];
    if (report->event_ps) {
        snprintf(text, sizeof text, "%.3f", (double)report->event_ps / 1000);
        put_fact(out, "recorder.event_ns", text);
    }
    put_hooks(out, report);
    put_number(out, NL_RECCOST_SAMPLES, nl_run_samples_ns(report));
    if (report->start_ns) {
        put_number(out, NL_RECCOST_STARTS, report->sums.started);
        put_number(out, NL_RECCOST_START, report->start_ns);
    }
    if (report->program_cpu_ns >= 0)
        put_number(out, "recorder.program_cpu_ns", (uint64_t)report->program_cpu_ns);
    put_number(out, "recorder.recorder_cpu_ns", (uint64_t)report->recorder_cpu_ns);
}

void nl_provenance_end(const char *parts, const struct nl_recorder_report *report)
{
    char text[32];
    int wait_status = report->wait_status;
    FILE *out = open_facts(parts, 0);
    if (!out)
        return;
    if (WIFEXITED(wait_status)) {
        snprintf(text, sizeof text, "%d", WEXITSTATUS(wait_status));
        put_fact(out, "run.exit_status", text);
    } else if (WIFSIGNALED(wait_status)) {
        const char *name = nl_signal_name(WTERMSIG(wait_status));
        snprintf(text, sizeof text, "SIG%.20s", name ? name : "?");
        put_fact(out, "run.exit_signal", text);
    }
    put_costs(out, report);
    fclose(out);
}
