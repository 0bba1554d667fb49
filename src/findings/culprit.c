/* culprit — see culprit.h. One row per cause: the account rows it covers, and the words before the
 * name. */
#include "findings/culprit.h"

#include <string.h>

#include "findings/bookcause.h"
#include "findings/bound.h"

#define MIN_CULPRIT_SHARE 0.3 /* of the rows' time: a name with less is not the culprit */
#define MAX_SEEN          64

enum about {
    ABOUT_HTOD,
    ABOUT_DTOH,
    ABOUT_COPIES,
    ABOUT_COMM,
    ABOUT_WAITS,
    ABOUT_OPS,
    ABOUT_ALLOCATION,
    ABOUT_CODE
};

static const struct {
    const char *cause;
    enum about about;
    const char *words; /* before the name */
    bool waits_bound;  /* the saving is limited to the idle time after waits */
} rows[] = {
    {"h2d_in_critical_path", ABOUT_HTOD, ", copied by ", false},
    {"d2h_in_critical_path", ABOUT_DTOH, ", copied by ", false},
    {"pageable_memcpy", ABOUT_COPIES, ", by ", false},
    {"sync_memcpy", ABOUT_COPIES, ", by ", true},
    {"many_small_copies", ABOUT_COPIES, ", by ", false},
    {"exposed_communication", ABOUT_COMM, ", most in ", false},
    {"sync_calls", ABOUT_WAITS, ": ", false},
    {"item_scalar_readback", ABOUT_WAITS, ": ", false},
    {"cpu_dispatch_overhead", ABOUT_OPS, ", most in ", false},
    {"launch_bound_small_kernels", ABOUT_OPS, ", most in ", false},
    {"allocator_churn", ABOUT_ALLOCATION, ": ", false},
    {"jit_compile_in_loop", ABOUT_CODE, ": ", false},
};

enum field { FIELD_PLACE, FIELD_WAIT, FIELD_NAME };

#define BIT(n) (1u << (n))

/* Selects account rows by part and activity (0: any), and which of their names to use. */
static const struct {
    unsigned parts, activities;
    enum field field;
} abouts[] = {
    [ABOUT_HTOD] = {BIT(NL_BOOKED_COPY), 0, FIELD_PLACE},
    [ABOUT_DTOH] = {BIT(NL_BOOKED_COPY), 0, FIELD_PLACE},
    [ABOUT_COPIES] = {BIT(NL_BOOKED_COPY), 0, FIELD_PLACE},
    [ABOUT_COMM] = {BIT(NL_BOOKED_COMM) | BIT(NL_BOOKED_COMM_WAIT) | BIT(NL_BOOKED_COMM_TRANSFER),
                    0, FIELD_PLACE},
    [ABOUT_WAITS] = {BIT(NL_BOOKED_IDLE), 0, FIELD_WAIT},
    [ABOUT_OPS] = {BIT(NL_BOOKED_IDLE),
                   BIT(NL_ACTIVITY_OP) | BIT(NL_ACTIVITY_PYTHON) | BIT(NL_ACTIVITY_RANGE) |
                       BIT(NL_ACTIVITY_LAYER) | BIT(NL_ACTIVITY_LAUNCH),
                   FIELD_NAME},
    [ABOUT_ALLOCATION] = {BIT(NL_BOOKED_IDLE), BIT(NL_ACTIVITY_ALLOCATE), FIELD_NAME},
    [ABOUT_CODE] = {BIT(NL_BOOKED_IDLE),
                    BIT(NL_ACTIVITY_MODULE) | BIT(NL_ACTIVITY_COMPILE) |
                        BIT(NL_ACTIVITY_GRAPH_BUILD),
                    FIELD_NAME},
};

/* The row's name for `about`; 0 if the row does not match. */
static uint32_t matching_name(const struct nl_account_row *row, enum about about)
{
    enum nl_copykind wanted = about == ABOUT_HTOD ? NL_COPY_HTOD : NL_COPY_DTOH;
    bool direction = about == ABOUT_HTOD || about == ABOUT_DTOH;
    if (!(abouts[about].parts & BIT(row->part)) ||
        (abouts[about].activities && !(abouts[about].activities & BIT(row->activity))) ||
        (direction && nl_account_copykind(row) != wanted))
        return 0;
    switch (abouts[about].field) {
    case FIELD_PLACE: return row->module_or_range ? row->module_or_range : row->op;
    case FIELD_WAIT: return row->wait;
    case FIELD_NAME: break;
    }
    return row->name;
}

/* True for operators that only mean "copy": they do not say who copies. */
static bool says_copy(struct nl_str name)
{
    return nl_str_is(name, "aten::copy_") || nl_str_is(name, "aten::to") ||
           nl_str_is(name, "aten::_to_copy");
}

struct share {
    uint32_t name;
    int64_t ns;
};

/* The name with most time; *whole: total time of all named rows. */
static struct share largest(const struct nl_account *account,
                            const struct nl_account_device *device, enum about about,
                            int64_t *whole)
{
    struct share shares[MAX_SEEN] = {{0, 0}}, best = {0, 0};
    size_t count = 0;
    *whole = 0;
    for (size_t i = 0; i < device->rows; i++) {
        const struct nl_account_row *row = &account->rows[device->first_row + i];
        uint32_t name = row->inside ? matching_name(row, about) : 0;
        size_t at = 0;
        if (!name)
            continue;
        *whole += row->ns;
        while (at < count && shares[at].name != name)
            at++;
        if (at == MAX_SEEN)
            continue;
        count = at == count ? count + 1 : count;
        shares[at].name = name;
        shares[at].ns += row->ns;
        if (shares[at].ns > best.ns)
            best = shares[at];
    }
    return best;
}

static void bound_by_waits(struct nl_finding *finding, const struct nl_account *account,
                           const struct nl_account_device *device)
{
    int64_t waits;
    (void)largest(account, device, ABOUT_WAITS, &waits);
    for (size_t end = 0; end < 2; end++)
        finding->saving_ns[end] = finding->saving_ns[end] < waits ? finding->saving_ns[end] : waits;
}

void nl_culprit_name(struct nl_finding *finding, const struct nl_scene *scene,
                     const struct nl_account *account)
{
    const struct nl_account_device *device = nl_scene_account(account, scene);
    size_t i = 0;
    while (i < sizeof rows / sizeof rows[0] && strcmp(rows[i].cause, finding->cause) != 0)
        i++;
    if (i == sizeof rows / sizeof rows[0] || !device)
        return;
    int64_t whole;
    if (rows[i].waits_bound)
        bound_by_waits(finding, account, device);
    struct share best = largest(account, device, rows[i].about, &whole);
    struct nl_str name = best.name ? nl_account_name(account, best.name) : (struct nl_str){"", 0};
    if (!name.len || says_copy(name) || (double)best.ns < MIN_CULPRIT_SHARE * (double)whole)
        return;
    finding->culprit = nl_booked_text(scene, best.name);
    finding->title = nl_say(scene, "%s%s%s", finding->title, rows[i].words, finding->culprit);
}
