/*
 * bookcause — what causes that are read off the account, or off names, have in common:
 * sums over the rows of a scene's account with the SQL that gives them, lists of names,
 * and evidence in one call.
 *
 *     struct nl_booked sum = nl_booked_sum(scene, is_lock);
 *     ... nl_prove_ns(scene, finding, "lock_wait_ns", "> 5 % of wall", nl_booked_sql(scene, "sum(ns)", LOCKS),
 *                     sum.ns, "%s in locks", nl_say_ns(scene, sum.ns));
 */
#ifndef NL_BOOKCAUSE_H
#define NL_BOOKCAUSE_H

#include "findings/cause.h"

typedef bool nl_booked_test(const struct nl_scene *scene, const struct nl_account_row *row);

struct nl_booked {
    int64_t ns;
    uint64_t count;                   /* stretches, or operations */
    const struct nl_account_row *top; /* the row with most; NULL without any */
};

/* Over the rows of the scene's account that pass; nothing without an account. */
struct nl_booked nl_booked_sum(const struct nl_scene *scene, nl_booked_test *wanted);

/* The same by names: of the rows that pass, those of the NL_BOOKED_NAMES names with most time, and
 * the condition in SQL that picks them. `share` of the first is top_ns. */
#define NL_BOOKED_NAMES 12
struct nl_booked_by_name {
    int64_t ns, top_ns;
    uint64_t count, names;
    uint32_t top; /* id for nl_account_name; 0 none */
    const char *condition;
};
struct nl_booked_by_name nl_booked_by_name(const struct nl_scene *scene, nl_booked_test *wanted);

/* What causes are judged by that are calls of one kind on the main thread, known by their names. */
struct nl_booked_calls {
    nl_booked_test *wanted;
    double warn_share, critical_share; /* of wall */
    const char *threshold;             /* warn_share as a text */
    const char *metric, *longest;      /* of the evidence: all, and those of one name */
    const char *before,
        *after;       /* title: "<before> 3 ms (12 % of the time) <after>, most in NAME" */
    const char *says; /* evidence: "3 ms (12 % of the time) in <says>" */
    const char *part; /* of the account, which `wanted` asks for; NULL: any */
};
enum nl_verdict nl_judge_calls(struct nl_scene *scene, struct nl_finding *finding,
                               const struct nl_booked_calls *calls);

/* An id of the account as a text for titles, at most 60 characters. */
const char *nl_booked_text(const struct nl_scene *scene, uint32_t id);

/* What a step begins with, in front of the first work of a device with steps: functions and
 * operators of the program. The same as a condition on rows of the table account. */
bool nl_booked_own_before(const struct nl_account_device *device, const struct nl_account_row *row);
#define NL_BOOKED_OWN_BEFORE_SQL                                                                   \
    "part = 'before_device' AND phase = 'steady' AND kind IN ('operator', 'python', 'layer', "     \
    "'range', 'function', 'other')"

/* Σ ns of all rows of the scene's account: shares of phases are of that. */
int64_t nl_booked_total(const struct nl_scene *scene);

/* "rank 3", "GPU 1": a member of collectives. */
const char *nl_booked_member(const struct nl_scene *scene, uint32_t member);

/* What the device waits in its collectives for the one late rank; 0 where none stands out. */
int64_t nl_booked_late(const struct nl_scene *scene);

/* "SELECT <what> FROM account(…) WHERE <condition> AND <place>" */
const char *nl_booked_sql(const struct nl_scene *scene, const char *what, const char *condition);

/* ---- names ---- */

/* Texts of which one must stand in a name. */
struct nl_marks {
    const char *const *texts;
    size_t count;
};
#define NL_MARKS(array) ((struct nl_marks){array, sizeof array / sizeof array[0]})

bool nl_marks_in(struct nl_marks marks, struct nl_str name);
/* "(name GLOB '*a*' OR name GLOB '*b*')" */
const char *nl_marks_sql(const struct nl_scene *scene, const char *column, struct nl_marks marks);
/* Whether the last word of a function's name is one of the texts: "acquire" of "<method 'acquire'
 * of '_thread.lock' objects>", "threading.Lock.acquire", "pthread_mutex_lock". */
bool nl_marks_end(struct nl_marks marks, struct nl_str name);

/* Per dictionary id whether a mark stands in it; nl_free it. */
uint8_t *nl_marks_names(const struct nl_trace *trace, struct nl_marks marks);

/* ---- slices of the CPU ---- */

/* The thread that the scene is about: of a process its main thread, of a device the one that
 * launched most of its work. NL_NULL_ROW: not known. */
uint32_t nl_scene_thread(const struct nl_scene *scene);

/* "<table>.lane IN (SELECT id FROM lanes WHERE thread = 3)": slices of that thread. */
const char *nl_scene_thread_sql(const struct nl_scene *scene, uint32_t thread);

/* Times of the thread's slices whose names are marked, normal, clipped to the window; the number of
 * slices. `longest` may be NULL. */
size_t nl_scene_slices(const struct nl_scene *scene, uint32_t thread, const uint8_t *marked,
                       struct nl_intervals *out, struct nl_evidence *longest);

/* The part of `set` in device idle time caused by the CPU (host_late, or unknown); all of it in a
 * scene of a process. `out` is initialised. And the length of that in SQL, of a set in SQL. */
void nl_scene_keep_idle(const struct nl_scene *scene, const struct nl_intervals *set,
                        struct nl_intervals *out);
const char *nl_scene_keep_idle_sql(const struct nl_scene *scene, const char *set);

/* ---- evidence ---- */

struct nl_evidence *nl_prove(const struct nl_scene *scene, struct nl_finding *finding,
                             struct nl_evidence evidence, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
