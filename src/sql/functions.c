/* Registration of scalar functions and aggregates, and the sets they make. */
#include "sql/functions.h"

#include "base/mem.h"

#define ROOM_WITHOUT_BUDGET ((uint64_t)8 << 30)

static uint64_t room(const struct nl_db *db)
{
    uint64_t budget = db->job ? db->job->memory_bytes : 0;
    return budget ? budget / 2 : ROOM_WITHOUT_BUDGET;
}

bool nl_context_room(sqlite3_context *context, uint64_t bytes)
{
    struct nl_db *db = nl_context_db(context);
    if (bytes + db->set_bytes <= room(db))
        return true;
    db->too_large = true;
    sqlite3_result_error_nomem(context);
    return false;
}

struct nl_intervals *nl_db_new_set(struct nl_db *db)
{
    struct nl_sql_set *made = nl_zalloc(sizeof *made);
    made->next = db->sets;
    db->sets = made;
    db->set_bytes += sizeof *made;
    return &made->set;
}

bool nl_db_set_filled(struct nl_db *db, const struct nl_intervals *set)
{
    db->set_bytes += set->cap * sizeof *set->items;
    db->too_large = db->set_bytes > room(db);
    return !db->too_large;
}

void nl_db_free_sets(struct nl_db *db)
{
    while (db->sets) {
        struct nl_sql_set *set = db->sets;
        db->sets = set->next;
        nl_intervals_release(&set->set);
        nl_free(set);
    }
    db->set_bytes = 0;
}

static int add_function(struct nl_db *db, const struct nl_function *function)
{
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    return sqlite3_create_function_v2(db->sqlite, function->name, function->args, flags, db,
                                      function->scalar, function->step, function->final, NULL);
}

int nl_functions_register(struct nl_db *db)
{
    const struct nl_function *lists[] = {nl_interval_functions, nl_statistic_functions,
                                         nl_api_functions};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct nl_function *function = lists[i]; function->name; function++) {
            int rc = add_function(db, function);
            if (rc != SQLITE_OK)
                return rc;
        }
    return SQLITE_OK;
}
