/* The map of ids that readers of GPU tables share: small and large keys, values that stay. */
#include "check.h"
#include "fabricate.h"

#include "ingest/lib/gpurows.h"
#include "store/copykind.h"

static void keeps_the_first_value(void)
{
    struct gpurows_map map = {0};
    bool made;
    CHECK(!gpurows_map_find(&map, 0));
    CHECK_INT(*gpurows_map_put(&map, 5, 50, &made), 50);
    CHECK(made);
    CHECK_INT(*gpurows_map_put(&map, 5, 51, &made), 50);
    CHECK(!made);
    CHECK_INT(*gpurows_map_put(&map, UINT64_MAX, 52, &made), 52);
    CHECK(made);
    CHECK_INT(*gpurows_map_put(&map, UINT64_MAX, 53, NULL), 52);
    *gpurows_map_put(&map, 5, 0, NULL) = 54;
    CHECK_INT(*gpurows_map_find(&map, 5), 54);
    CHECK_INT(map.count, 2);
    gpurows_map_release(&map);
    CHECK(!gpurows_map_find(&map, 5));
}

/* Keys that begin far apart and become dense: those of the table stay there, and are found. */
static void small_and_large_keys_are_one_map(void)
{
    enum { KEYS = 8192 };
    struct gpurows_map map = {0};
    static uint64_t value[KEYS];
    uint64_t state = 11, count = 0;
    for (uint64_t i = 1; i <= 40000; i++) {
        uint64_t key = fabricate_random(&state) % (i < 500 ? KEYS : 700);
        bool made;
        uint64_t *at = gpurows_map_put(&map, key, i, &made);
        CHECK(made == (value[key] == 0));
        value[key] = made ? i : value[key];
        count += made;
        CHECK_INT(*at, value[key]);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        const uint64_t *found = gpurows_map_find(&map, key);
        CHECK_INT(found ? *found : 0, value[key]);
    }
    CHECK(map.small_count > 0 && map.pair_count > 0);
    CHECK_INT(map.count, count);
    gpurows_map_release(&map);
}

/* Each way that tools write where a copy goes, case ignored. */
static void knows_words_of_copies(void)
{
    static const struct {
        const char *word;
        enum nl_copykind kind;
    } cases[] = {{"MEMORY_COPY_HOST_TO_DEVICE", NL_COPY_HTOD},
                 {"MEMORY_COPY_DEVICE_TO_HOST", NL_COPY_DTOH},
                 {"MEMORY_COPY_DEVICE_TO_DEVICE", NL_COPY_DTOD},
                 {"MEMORY_COPY_HOST_TO_HOST", NL_COPY_HTOH},
                 {"CopyHostToDevice", NL_COPY_HTOD},
                 {"CopyDeviceToHost", NL_COPY_DTOH},
                 {"copydevicetodevice", NL_COPY_DTOD},
                 {"hipMemcpyHostToHost", NL_COPY_HTOH},
                 {"CopyPeerToPeer", NL_COPY_PTOP},
                 {"[CUDA memcpy HtoD]", NL_COPY_HTOD},
                 {"[CUDA memcpy DtoH]", NL_COPY_DTOH},
                 {"[CUDA memcpy DtoD]", NL_COPY_DTOD},
                 {"[CUDA memcpy HtoH]", NL_COPY_HTOH},
                 {"[CUDA memcpy PtoP]", NL_COPY_PTOP},
                 {"[CUDA memcpy HtoA]", NL_COPY_HTOA},
                 {"[CUDA memcpy AtoH]", NL_COPY_ATOH},
                 {"[CUDA memcpy DtoA]", NL_COPY_DTOA},
                 {"[CUDA memcpy AtoD]", NL_COPY_ATOD},
                 {"[CUDA memcpy AtoA]", NL_COPY_ATOA},
                 {"memcpy", NL_COPY_UNKNOWN},
                 {"", NL_COPY_UNKNOWN}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].word);
        CHECK_INT(nl_copykind_of_text(nl_str(cases[i].word)), cases[i].kind);
    }
}

/* CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind and
 * CUpti_ActivitySynchronizationType, by number. */
static void knows_numbers_of_cupti(void)
{
    static const uint8_t copies[] = {
        [1] = NL_COPY_HTOD,      [2] = NL_COPY_DTOH,      [3] = NL_COPY_HTOA,
        [4] = NL_COPY_ATOH,      [5] = NL_COPY_ATOA,      [6] = NL_COPY_ATOD,
        [7] = NL_COPY_DTOA,      [8] = NL_COPY_DTOD,      [9] = NL_COPY_HTOH,
        [10] = NL_COPY_PTOP,     [11] = NL_COPY_UVM_HTOD, [12] = NL_COPY_UVM_DTOH,
        [13] = NL_COPY_UVM_DTOD, [14] = NL_COPY_UNKNOWN};
    static const uint8_t memories[] = {
        [1] = NL_MEMORY_PAGEABLE,       [2] = NL_MEMORY_PINNED,  [3] = NL_MEMORY_DEVICE,
        [4] = NL_MEMORY_ARRAY,          [5] = NL_MEMORY_MANAGED, [6] = NL_MEMORY_DEVICE_STATIC,
        [7] = NL_MEMORY_MANAGED_STATIC, [8] = NL_MEMORY_UNKNOWN};
    static const uint8_t syncs[] = {[1] = NL_SYNC_EVENT,
                                    [2] = NL_SYNC_STREAM_WAIT_EVENT,
                                    [3] = NL_SYNC_STREAM,
                                    [4] = NL_SYNC_CONTEXT,
                                    [5] = NL_SYNC_UNKNOWN};
    for (size_t i = 0; i < CHECK_LENGTH(copies); i++)
        CHECK_INT(nl_copykind_of_cupti((int64_t)i), copies[i]);
    for (size_t i = 0; i < CHECK_LENGTH(memories); i++)
        CHECK_INT(gpurows_cupti_memory((int64_t)i), memories[i]);
    for (size_t i = 0; i < CHECK_LENGTH(syncs); i++)
        CHECK_INT(gpurows_cupti_sync((int64_t)i), syncs[i]);
    static const int64_t others[] = {-1, 255, 256 + 1, INT64_MAX, INT64_MIN, NL_NULL_I64};
    for (size_t i = 0; i < CHECK_LENGTH(others); i++) {
        CHECK_INT(nl_copykind_of_cupti(others[i]), NL_COPY_UNKNOWN);
        CHECK_INT(gpurows_cupti_memory(others[i]), NL_MEMORY_UNKNOWN);
        CHECK_INT(gpurows_cupti_sync(others[i]), NL_SYNC_UNKNOWN);
    }
}

CHECK_MAIN("gpurows", {"keeps the first value", keeps_the_first_value},
           {"small and large keys are one map", small_and_large_keys_are_one_map},
           {"knows words of copies", knows_words_of_copies},
           {"knows numbers of CUPTI", knows_numbers_of_cupti})
