/* SQLite's own allocator, whose NULL is not passed on. */
#include "cli/sqlmemory.h"

#include <sqlite3.h>

#include "base/mem.h"

static sqlite3_mem_methods its_own;

static void *sql_alloc(int bytes)
{
    void *memory = its_own.xMalloc(bytes);
    if (!memory)
        nl_memory_exhausted((size_t)bytes);
    return memory;
}

static void *resize(void *old, int bytes)
{
    void *memory = its_own.xRealloc(old, bytes);
    if (!memory)
        nl_memory_exhausted((size_t)bytes);
    return memory;
}

void nl_sqlmemory_install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &its_own) != SQLITE_OK)
        return;
    sqlite3_mem_methods methods = its_own;
    methods.xMalloc = sql_alloc;
    methods.xRealloc = resize;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
