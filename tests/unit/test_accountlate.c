/*
 * The one that the others wait for (account/accountlate.c): accounts made by hand of who waits for
 * whom, each limit from both sides.
 */
#include "check.h"

#include "account/accountcomm.h"
#include "account/accountlate.h"

#define DEVICES 4
#define NOBODY  9 /* it is not known for whom */

struct wait {
    size_t device, member; /* device waits for member */
    int64_t ns;
    enum nl_phase phase;
    bool transfer; /* is no waiting */
};

#define EACH_100                                                                                   \
    {0, 3, 100, NL_STEADY, false}, {1, 3, 100, NL_STEADY, false},                                  \
    {                                                                                              \
        2, 3, 100, NL_STEADY, false                                                                \
    }

static const struct {
    const char *what;
    struct wait waits[8];
    size_t idle, unknown; /* devices without work, or of unknown starts: number + 1 */
    enum nl_phase phase;
    size_t others; /* 0: none stands out */
    int64_t waits_ns, net_saving_ns;
} cases[] = {
    {"all wait for the last", {EACH_100}, 0, 0, NL_PHASES, 3, 300, 100},
    {"nobody waits", {{0, 0, 0, 0, false}}, 0, 0, NL_PHASES, 0, 0, 0},
    /* half of all waiting is for it */
    {"300 of 600",
     {EACH_100, {0, 1, 100, 0, false}, {1, 2, 100, 0, false}, {2, 0, 100, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     300,
     100},
    {"300 of 601",
     {EACH_100, {0, 1, 100, 0, false}, {1, 2, 100, 0, false}, {2, 0, 101, 0, false}},
     0,
     0,
     NL_PHASES,
     0,
     0,
     0},
    {"300 of 600, the rest for nobody known",
     {EACH_100, {0, NOBODY, 300, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     300,
     100},
    {"300 of 601, the rest for nobody known",
     {EACH_100, {0, NOBODY, 301, 0, false}},
     0,
     0,
     NL_PHASES,
     0,
     0,
     0},
    /* it waits itself half as long as any waits for it */
    {"waits 50 of 100 itself", {EACH_100, {3, 0, 50, 0, false}}, 0, 0, NL_PHASES, 3, 300, 100},
    {"waits 51 of 100 itself", {EACH_100, {3, 0, 51, 0, false}}, 0, 0, NL_PHASES, 0, 0, 0},
    {"transfers do not count", {EACH_100, {3, 0, 51, 0, true}}, 0, 0, NL_PHASES, 3, 300, 100},
    /* each of the others a quarter of what they wait on average: 3 x 30 of 360 */
    {"one waits 30 of 360",
     {{0, 3, 30, 0, false}, {1, 3, 165, 0, false}, {2, 3, 165, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     360,
     30},
    {"one waits 29 of 359",
     {{0, 3, 29, 0, false}, {1, 3, 165, 0, false}, {2, 3, 165, 0, false}},
     0,
     0,
     NL_PHASES,
     0,
     0,
     0},
    /* who does not wait for it waits for some that do */
    {"one waits for another",
     {{0, 2, 40, 0, false}, {1, 3, 100, 0, false}, {2, 3, 100, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     200,
     40},
    {"one does not wait", {{1, 3, 100, 0, false}, {2, 3, 100, 0, false}}, 0, 0, NL_PHASES, 0, 0, 0},
    {"what waits for it counts first",
     {{0, 3, 90, 0, false}, {0, 2, 70, 0, false}, {1, 3, 100, 0, false}, {2, 3, 100, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     290,
     90},
    {"several rows of one",
     {{0, 3, 40, 0, false}, {0, 3, 50, 0, false}, {1, 3, 100, 0, false}, {2, 3, 100, 0, false}},
     0,
     0,
     NL_PHASES,
     3,
     290,
     90},
    /* devices without work are none, and times that are not known tell nothing */
    {"one without work",
     {{1, 3, 100, 0, false}, {2, 3, 100, 0, false}},
     1,
     0,
     NL_PHASES,
     2,
     200,
     100},
    {"the late one has no work", {EACH_100}, 4, 0, NL_PHASES, 0, 0, 0},
    {"starts are not known", {EACH_100}, 0, 1, NL_PHASES, 0, 0, 0},
    {"of one without work they need not be",
     {{1, 3, 100, 0, false}, {2, 3, 100, 0, false}},
     1,
     1,
     NL_PHASES,
     2,
     200,
     100},
    /* phases */
    {"in that phase", {EACH_100, {0, 1, 900, NL_STARTUP, false}}, 0, 0, NL_STEADY, 3, 300, 100},
    {"in all phases", {EACH_100, {0, 1, 900, NL_STARTUP, false}}, 0, 0, NL_PHASES, 0, 0, 0},
    {"in another phase", {EACH_100}, 0, 0, NL_TAIL, 0, 0, 0},
};

static void who_is_late(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_account_device devices[DEVICES] = {0};
        struct nl_account_member members[DEVICES] = {0};
        struct nl_account_row rows[8] = {0};
        struct nl_account account = {.devices = devices,
                                     .rows = rows,
                                     .device_count = DEVICES,
                                     .members = members,
                                     .member_count = DEVICES};
        for (size_t k = 0; k < DEVICES; k++) {
            bool idle = cases[i].idle == k + 1;
            devices[k] = (struct nl_account_device){.device = (uint32_t)k,
                                                    .rank = (int64_t)k,
                                                    .work_start = idle ? INT64_MIN : 0,
                                                    .starts_unknown = cases[i].unknown == k + 1,
                                                    .first_row = account.row_count};
            members[k].device = (uint32_t)k;
            members[k].rank = (int64_t)k;
            for (const struct wait *wait = cases[i].waits; wait < cases[i].waits + 8; wait++)
                if (wait->ns && wait->device == k) {
                    uint32_t late = wait->member == NOBODY ? NL_NULL_ROW : (uint32_t)wait->member;
                    rows[account.row_count++] = (struct nl_account_row){
                        .part = wait->transfer ? NL_BOOKED_COMM_TRANSFER : NL_BOOKED_COMM_WAIT,
                        .phase = (uint8_t)wait->phase,
                        .late = late,
                        .ns = wait->ns};
                }
            devices[k].rows = account.row_count - devices[k].first_row;
        }
        struct nl_account_late late = nl_account_late(&account, cases[i].phase);
        check_case(cases[i].what);
        CHECK_INT(late.others, cases[i].others);
        CHECK_INT(late.member, cases[i].others ? 3 : NL_NULL_ROW);
        if (!cases[i].others)
            continue;
        CHECK_INT(late.device, 3);
        CHECK_INT(late.waits_ns, cases[i].waits_ns);
        CHECK_INT(late.net_saving_ns, cases[i].net_saving_ns);
    }
}

CHECK_MAIN("accountlate", {"who is late", who_is_late})
