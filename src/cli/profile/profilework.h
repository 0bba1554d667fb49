/*
 * profilework — what the backends of `profile` have in common: the model's file, a temporary folder
 * that is gone at the end, the run in the ledger.
 */
#ifndef NL_PROFILEWORK_H
#define NL_PROFILEWORK_H

#include "cli/command.h"
#include "base/units.h"
#include "ledger/runadd.h"
#include "tables/result.h"
#include "view/view.h"

/* What the ways of running a model take when nothing else is asked for; times in ns. */
#define DEFAULT_WARM_UP  10
#define DEFAULT_RUNS     10000
#define DEFAULT_PROFILE  50
#define DEFAULT_TIME     (20 * NL_SECOND_NS)
#define DEFAULT_PATIENCE (600 * NL_SECOND_NS)

/* In the order of the names that --backend takes. */
enum nl_profile_backend { NL_PROFILE_ONNXRUNTIME, NL_PROFILE_TENSORRT, NL_PROFILE_TORCH };

/* The options of profile. */
struct nl_profile_options {
    struct nl_texts inputs, dims, providers;
    const char *library, *trtexec, *python_program;
    int backend; /* enum nl_profile_backend */
    int64_t warm_up, max_runs, profiled_runs, max_time_ns;
    struct nl_texts set; /* key=value */
    bool no_add, keep_source;
};

static inline const struct nl_profile_options *nl_profile_own(const struct nl_call *call)
{
    return call->own;
}

struct nl_profile_work {
    struct nl_call *call;
    const char *model;              /* path */
    const char *name;               /* without folder and ending */
    const char *folder;             /* temporary */
    struct nl_rundoc_setting *said; /* with --set */
    struct nl_add_result added;
    struct nl_arena arena;
};

/* Names the model by its file. NL_IO or NL_FORMAT for one that is missing, a folder or empty: that
 * is reported before looking for a backend. */
NL_MUST_CHECK bool nl_profile_check_model(struct nl_profile_work *work, struct nl_err *err);

NL_MUST_CHECK bool nl_profile_folder(struct nl_profile_work *work, struct nl_err *err);

/* Adds the profile (a file, or a folder of several) to the ledger, unless --no-add: with these
 * facts, those of the host, and what --set said, which wins. */
NL_MUST_CHECK bool nl_profile_keep(struct nl_profile_work *work, const char *profile,
                                   const struct nl_rundoc_setting *facts, size_t count,
                                   struct nl_err *err);

/* Removes the folder and frees the arena. */
void nl_profile_end(struct nl_profile_work *work);

#endif
