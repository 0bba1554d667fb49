/* See roofsof.h. */
#include "cli/roofsof.h"

#include <stdio.h>
#include <string.h>

#include "cli/ledgercall.h"
#include "cli/message.h"
#include "ledger/roofkeep.h"
#include "rundoc/hostmeta.h"

static bool find_facts(struct nl_host_roofs *facts, const struct nl_trace *trace,
                       struct nl_ledger *ledger, const struct nl_ledger_run *run,
                       const struct nl_call *call, struct nl_err *err)
{
    const char *named = call->settings.host;
    *facts = nl_host_meta(trace);
    if (run && !nl_roofkeep_host(ledger, run->run, facts, err))
        return false;
    facts->named = facts->named || (named && (!facts->host[0] || !strcmp(named, facts->host)));
    if (named && !facts->host[0])
        snprintf(facts->host, sizeof facts->host, "%s", named);
    else if (named && strcmp(named, facts->host) != 0)
        nl_message_note(call, "--host %s does not count: the profile was recorded on %s", named,
                        facts->host);
    return true;
}

static bool look_up_roofs(struct nl_host_roofs *facts, struct nl_ledger *ledger,
                          const struct nl_call *call, struct nl_host_roofs **roofs,
                          struct nl_err *err)
{
    bool there = ledger != NULL;
    if (!facts->host[0] || (!there && !nl_ledgercall_there(call, &there, err)) || !there)
        return false;
    struct nl_ledger *opened = ledger ? ledger : nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done = opened && nl_roofkeep_get(opened, facts, roofs, err);
    if (!ledger)
        nl_ledger_close(opened);
    return done;
}

void nl_roofs_of(struct nl_trace *trace, struct nl_ledger *ledger, const struct nl_ledger_run *run,
                 const struct nl_call *call)
{
    struct nl_host_roofs facts, *roofs = NULL;
    struct nl_err err;
    nl_err_clear(&err);
    if (!find_facts(&facts, trace, ledger, run, call, &err) ||
        !look_up_roofs(&facts, ledger, call, &roofs, &err)) {
        if (err.code)
            nl_message_detail(call, "no measured roofs: %s", err.text);
        nl_free(roofs);
        roofs = nl_zalloc(sizeof *roofs);
        *roofs = facts;
    }
    nl_trace_set_roofs(trace, roofs);
}
