/*
 * Yardstick: every row and column of an nsys export's event tables through sqlite3_step, storing
 * nothing.   yardstick_sqlite FILE → seconds, rows
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"};
    double start = now();
    sqlite3 *db;
    uint64_t rows = 0, sum = 0;
    if (argc != 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return 1;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        char sql[96];
        sqlite3_stmt *statement;
        snprintf(sql, sizeof sql, "SELECT * FROM %s", tables[t]);
        if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
            continue;
        int columns = sqlite3_column_count(statement);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            rows++;
            for (int c = 0; c < columns; c++)
                sum += (uint64_t)sqlite3_column_int64(statement, c);
        }
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
    printf("%.6f %llu %llu\n", now() - start, (unsigned long long)rows,
           (unsigned long long)(sum & 1));
    return 0;
}
