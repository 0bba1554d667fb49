/*
 * Files in tars (ingest/archivetar.c): kinds of entries, forms of names and sizes as
 * POSIX and GNU have them, and archives that are damaged or end early: what is given, and
 * what is counted as left out.
 */
#include "archivetaken.h"

#include "base/mem.h"
#include "check.h"

#define BLOCK 512u
#define LONG_100                                                                                   \
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
    "nnnnnnnn"
#define LONG_155                                                                                   \
    "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp" \
    "pppppppp"                                                                                     \
    "ppppppppppppppppppppppppppppppppppppppppppppppppppppppp"

enum form { OCTAL, SPACED, BINARY, GARBAGE, HUGE_SIZE };
enum fault { NONE, WRONG_SUM, OLD };

struct entry {
    char type;
    const char *name, *data;
    const char *prefix;
    int told; /* what the head says of its size, where that is not the data's; 0: it is */
    enum form form;
    enum fault fault;
};

#define E(its_type, its_name, its_data)                                                            \
    {                                                                                              \
        .type = its_type, .name = its_name, .data = its_data                                       \
    }
#define WITH(its_type, its_name, its_data, ...)                                                    \
    {                                                                                              \
        .type = its_type, .name = its_name, .data = its_data, __VA_ARGS__                          \
    }

static void put_size(char *to, enum form form, unsigned size)
{
    switch (form) {
    case OCTAL: snprintf(to, 12, "%011o", size); break;
    case SPACED: snprintf(to, 13, "%10o ", size); break;
    case BINARY:
        to[0] = (char)0x80;
        to[9] = (char)(size >> 16), to[10] = (char)(size >> 8), to[11] = (char)size;
        break;
    case GARBAGE: snprintf(to, 12, "5x"); break;
    case HUGE_SIZE: to[0] = (char)0x80, to[4] = 1, to[11] = 1; break; /* 2^56 and 1 */
    }
}

static void put_entry(struct nl_buf *tar, const struct entry *entry)
{
    char head[BLOCK] = {0};
    size_t len = strlen(entry->data), name = strlen(entry->name);
    unsigned sum = 0;
    memcpy(head, entry->name, name < 100 ? name : 100);
    put_size(head + 124, entry->form, entry->told ? (unsigned)entry->told : (unsigned)len);
    head[156] = entry->type;
    if (entry->fault != OLD)
        memcpy(head + 257, "ustar\0", 6);
    if (entry->prefix)
        memcpy(head + 345, entry->prefix, strlen(entry->prefix));
    memset(head + 148, ' ', 8);
    for (unsigned i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum + (entry->fault == WRONG_SUM));
    nl_buf_add(tar, head, BLOCK);
    nl_buf_add(tar, entry->data, len);
    while (tar->len % BLOCK)
        nl_buf_char(tar, '\0');
}

/* What is taken out of a tar; the caller releases taken->said. */
static void unpack(struct taken *taken, const void *bytes, size_t len, const char *only)
{
    struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_unpack unpack;
    nl_err_clear(&err);
    taken_begin(taken, &unpack, &job, len, only);
    struct nl_stream *stream = nl_stream_memory(bytes, len, &err);
    REQUIRE(stream);
    CHECK(nl_archive_tar(&unpack, stream, &err));
    CHECK_INT(err.code, NL_OK);
    nl_stream_close(stream);
    taken_end(taken, &unpack.told);
}

static const struct {
    const char *what;
    struct entry entries[4];
    const char *files;
} cases[] = {
    {"a file", {E('0', "a", "hello")}, "a=hello;"},
    {"the other types of files", {E('\0', "a", "1"), E('7', "b", "2")}, "a=1;b=2;"},
    {"an empty one", {E('0', "a", ""), E('0', "b", "2")}, "a=;b=2;"},
    {"with a prefix", {WITH('0', "a", "1", .prefix = "d/e")}, "d/e/a=1;"},
    {"which old ones have not", {WITH('0', "a", "1", .prefix = "d", .fault = OLD)}, "a=1;"},
    {"names that fill their fields",
     {WITH('0', LONG_100, "1", .prefix = LONG_155), E('0', LONG_100, "2")},
     LONG_155 "/" LONG_100 "=1;" LONG_100 "=2;"},
    {"a folder", {E('5', "d", ""), E('0', "d/", ""), E('0', "d/a", "1")}, "d/a=1;"},
    {"links have no bytes",
     {WITH('1', "a", "", .told = 5), WITH('2', "b", "", .told = 600), E('0', "c", "3")},
     "c=3; others 2"},
    {"nor have devices",
     {WITH('3', "a", "", .told = 5), WITH('4', "b", "", .told = 5), WITH('6', "p", "", .told = 5),
      E('0', "c", "3")},
     "c=3; others 3"},
    {"what nobody knows has", {E('Z', "a", "1"), E('0', "c", "3")}, "c=3; others 1"},
    {"a head for all", {E('g', "a", "1"), E('0', "c", "3")}, "c=3;"},
    {"a long name of a link", {E('K', "a", "1"), E('0', "c", "3")}, "c=3;"},
    {"a long name", {E('L', "x", "d/long"), E('0', "a", "1"), E('0', "b", "2")}, "d/long=1;b=2;"},
    {"records", {E('x', "x", "13 path=d/ee\n"), E('0', "a", "1"), E('0', "b", "2")}, "d/ee=1;b=2;"},
    {"another before it", {E('x', "x", "12 mtime=12\n12 path=new\n"), E('0', "a", "1")}, "new=1;"},
    {"a size in them",
     {E('x', "x", "9 size=3\n"), WITH('0', "a", "123", .told = 77), E('0', "b", "2")},
     "a=123;b=2;"},
    {"records that are too short", {E('x', "x", "2 path=new\n"), E('0', "a", "1")}, "a=1;"},
    {"of no length", {E('x', "x", "path=new\n"), E('0', "a", "1")}, "a=1;"},
    {"longer than the text", {E('x', "x", "13 path=new\n"), E('0', "a", "1")}, "a=1;"},
    {"a size below zero", {E('x', "x", "10 size=-1\n"), E('0', "a", "1")}, "a=1;"},
    {"sizes with blanks",
     {WITH('0', "a", "1234567", .form = SPACED), E('0', "b", "2")},
     "a=1234567;b=2;"},
    {"sizes in binary",
     {WITH('0', "a", "1234567", .form = BINARY), E('0', "b", "2")},
     "a=1234567;b=2;"},
    {"no size",
     {E('0', "a", "1"), WITH('0', "b", "2", .form = GARBAGE), E('0', "c", "3")},
     "a=1; damaged 1"},
    {"more than any disk holds", {WITH('0', "b", "2", .form = HUGE_SIZE)}, " damaged 1"},
    {"a wrong sum",
     {E('0', "a", "1"), WITH('0', "b", "2", .fault = WRONG_SUM), E('0', "c", "3")},
     "a=1; damaged 1"},
    {"names that are no profiles",
     {E('0', ".a", "1"), E('0', "d/.b", "1"), E('0', "d/neurolens.yaml", "1"),
      E('0', "__MACOSX/c", "1")},
     ""},
    {"this folder", {E('0', "./a", "1"), E('0', "././b", "2")}, "a=1;b=2;"},
};

static void put_end(struct nl_buf *tar)
{
    static const char zeros[2 * BLOCK];
    nl_buf_add(tar, zeros, sizeof zeros);
}

static void kinds_of_entries(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf tar;
        struct taken taken;
        nl_buf_init(&tar, 100000);
        for (size_t k = 0; k < 4 && cases[i].entries[k].name; k++)
            put_entry(&tar, &cases[i].entries[k]);
        put_end(&tar);
        check_case(cases[i].what);
        unpack(&taken, tar.ptr, tar.len, NULL);
        CHECK_TEXT(taken.said.ptr, cases[i].files);
        nl_buf_release(&taken.said);
        nl_buf_release(&tar);
    }
}

/* One of three is asked for by its whole name. */
static void only_one(void)
{
    static const char *const asked[][2] = {{"d/b", "d/b=2;"}, {"a", "a=1;"}, {"b", ""}, {"", ""}};
    static const struct entry entries[] = {E('0', "a", "1"), E('0', "d/b", "2"), E('0', "ab", "3")};
    for (size_t i = 0; i < CHECK_LENGTH(asked); i++) {
        struct nl_buf tar;
        struct taken taken;
        nl_buf_init(&tar, 100000);
        for (size_t k = 0; k < CHECK_LENGTH(entries); k++)
            put_entry(&tar, &entries[k]);
        put_end(&tar);
        check_case(asked[i][0]);
        unpack(&taken, tar.ptr, tar.len, asked[i][0]);
        CHECK_TEXT(taken.said.ptr, asked[i][1]);
        nl_buf_release(&taken.said);
        nl_buf_release(&tar);
    }
}

/* Blocks: 0 head and 1 data of "a", 2 head and 3 data of "b", 4 and 5 the end. */
static void cut_short(void)
{
    static const struct {
        size_t len;
        const char *files;
    } ends[] = {
        {6 * BLOCK, "a=hello;b=world;"},
        {5 * BLOCK, "a=hello;b=world;"},
        {4 * BLOCK, "a=hello;b=world; cut 1"}, /* nothing says that it ends */
        {4 * BLOCK - 1, "a=hello;b=world; damaged 1 cut 1"},
        {3 * BLOCK + 5, "a=hello;b=world; damaged 1 cut 1"},
        {3 * BLOCK + 4, "a=hello;b=worl; damaged 1 cut 1"},
        {3 * BLOCK, "a=hello;b=; damaged 1 cut 1"},
        {3 * BLOCK - 1, "a=hello; cut 1"},
        {2 * BLOCK, "a=hello; cut 1"},
    };
    static const struct entry entries[] = {E('0', "a", "hello"), E('0', "b", "world")};
    struct nl_buf tar;
    nl_buf_init(&tar, 100000);
    put_entry(&tar, &entries[0]);
    put_entry(&tar, &entries[1]);
    put_end(&tar);
    for (size_t i = 0; i < CHECK_LENGTH(ends); i++) {
        char name[30];
        struct taken taken;
        snprintf(name, sizeof name, "%zu bytes", ends[i].len);
        check_case(name);
        unpack(&taken, tar.ptr, ends[i].len, NULL);
        CHECK_TEXT(taken.said.ptr, ends[i].files);
        nl_buf_release(&taken.said);
    }
    nl_buf_release(&tar);
}

/* Around the sizes of a block and of what is copied at once. */
static void sizes(void)
{
    static const unsigned lengths[] = {511, 512, 513, 65535, 65536, 65537, 131072, 140000};
    for (size_t i = 0; i < CHECK_LENGTH(lengths); i++) {
        char want[40];
        char *data = nl_zalloc(lengths[i] + 1);
        memset(data, 'x', lengths[i]);
        struct nl_buf tar;
        struct taken taken;
        nl_buf_init(&tar, 200000);
        put_entry(&tar, &(struct entry)E('0', "a", data));
        put_entry(&tar, &(struct entry)E('0', "b", "2"));
        put_end(&tar);
        unpack(&taken, tar.ptr, tar.len, NULL);
        snprintf(want, sizeof want, "a=%u;b=2;", lengths[i]);
        CHECK_TEXT(taken.said.ptr, want);
        nl_buf_release(&taken.said);
        nl_buf_release(&tar);
        nl_free(data);
    }
}

CHECK_MAIN("archivetar", {"kinds of entries", kinds_of_entries}, {"only one", only_one},
           {"cut short", cut_short}, {"sizes", sizes})
