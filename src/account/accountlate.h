/*
 * accountlate — the one rank, or device, that the others wait for in their collectives. From the
 * rows exposed_comm_wait of an account, and for whom they are: no clocks of two ranks are compared.
 *
 *     struct nl_account_late late = nl_account_late(account, NL_STEADY);
 *     if (late.others) …
 *
 * None stands out where less than half of all waiting is for one, where that one itself waits for
 * others more than half as long as any waits for it (then they are late in turn), or where one of
 * the others hardly waits (then it is late, too, or does something else).
 */
#ifndef NL_ACCOUNTLATE_H
#define NL_ACCOUNTLATE_H

#include "account/account.h"

struct nl_account_late {
    size_t others;    /* other devices with work; 0: none stands out */
    uint32_t member;  /* of the account; NL_NULL_ROW none */
    size_t device;    /* its place in the account's devices */
    int64_t waits_ns; /* for it, of all others together */
    /* At most, when it is as quick as the others: what that of them waits that waits least. */
    int64_t net_saving_ns;
};

/* `phase`: NL_PHASES = all. */
struct nl_account_late nl_account_late(const struct nl_account *account, enum nl_phase phase);

/* What a device (of the account) waits for it in that phase; one that does not wait for it (it is
 * in other groups) waits for some that do: what it waits for any. */
int64_t nl_account_late_wait(const struct nl_account *account, enum nl_phase phase, uint32_t member,
                             size_t device);

#endif
