/*
 * Files in ZIP archives (ingest/archivezip.c), written byte by byte after PKWARE's APPNOTE 6.3.10:
 * how they are packed, where sizes and places stand, where the directory lies, and archives that
 * are damaged or lie: what is given, and what is counted as left out.
 */
#include "archivetaken.h"

#include "base/mem.h"
#include "check.h"

#define FULL      0xffffffffu
#define END_SIZE  22u
#define WIDE_SIZE 56u
#define SEEK_SIZE 20u /* of what says where the wide end is */

/* "hello" deflated with fixed codes (RFC 1951), and where it ends early: the code of the end
 * is in the last two bytes. */
#define HELLO_DEFLATED "\xcb\x48\xcd\xc9\xc9\x07\x00"

enum trick {
    PLAIN,
    WRONG_SUM,
    NO_HEAD,     /* where its bytes should be is no head of a file */
    AT_THE_END,  /* its head would not fit the archive */
    ONE_LONGER,  /* its bytes would end one behind the archive */
    OWN_EXTRA,   /* its head has an extra field of its own, and the directory a comment */
    ALL_WIDE,    /* both sizes and the place are in the ZIP64 field, behind an unknown one */
    PLACE_WIDE,  /* the place alone */
    WIDE_SHORT,  /* both sizes and the place should be, and the first is missing */
    WIDE_LONGER, /* the field would end behind its room */
};

struct entry {
    const char *name, *data; /* as it is */
    unsigned method;         /* 0: stored; 8: "hello" deflated; others: nobody knows */
    unsigned flags;
    enum trick trick;
};

static void put_number(struct nl_buf *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        nl_buf_char(to, i < 8 ? (char)(value >> 8 * i) : '\0');
}

/* CRC-32 of IEEE 802.3, bit by bit. */
static uint32_t sum_of(const char *data, size_t len)
{
    uint32_t sum = FULL;
    for (size_t i = 0; i < len; i++) {
        sum ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

static void put_bytes(struct nl_buf *to, const struct entry *entry)
{
    if (entry->method == 8)
        nl_buf_add(to, HELLO_DEFLATED, sizeof HELLO_DEFLATED - 1);
    else
        nl_buf_text(to, entry->data);
}

static uint64_t packed_of(const struct entry *entry)
{
    return entry->method == 8 ? sizeof HELLO_DEFLATED - 1 : strlen(entry->data);
}

static void put_file(struct nl_buf *zip, const struct entry *entry)
{
    size_t extra = entry->trick == OWN_EXTRA ? 9 : 0;
    nl_buf_add(zip, entry->trick == NO_HEAD ? "PK\3\5" : "PK\3\4", 4);
    put_number(zip, 20, 2);
    put_number(zip, entry->flags, 2);
    put_number(zip, entry->method, 2);
    put_number(zip, 0, 16); /* times, sum and sizes: the directory has them */
    put_number(zip, strlen(entry->name), 2);
    put_number(zip, extra, 2);
    nl_buf_text(zip, entry->name);
    put_number(zip, 0, (unsigned)extra);
    put_bytes(zip, entry);
}

/* The ZIP64 field and what stands before it; `place` is where the file's head is. */
static void put_extra(struct nl_buf *extra, const struct entry *entry, uint64_t place)
{
    if (entry->trick == ALL_WIDE) {
        put_number(extra, 0x5455, 2); /* times */
        put_number(extra, 5, 2);
        put_number(extra, 0, 5);
    }
    if (entry->trick >= ALL_WIDE) {
        unsigned size = entry->trick == ALL_WIDE ? 24 : 8;
        put_number(extra, 1, 2);
        put_number(extra, entry->trick == WIDE_LONGER ? size + 1 : size, 2);
        if (entry->trick == ALL_WIDE) {
            put_number(extra, strlen(entry->data), 8);
            put_number(extra, packed_of(entry), 8);
        }
        put_number(extra, place, 8);
    }
}

/* An entry of the directory for the file at `place` of an archive that will
 * be `whole` bytes long. */
static void put_entry(struct nl_buf *zip, const struct entry *entry, uint64_t place, uint64_t whole)
{
    struct nl_buf extra;
    uint64_t packed = packed_of(entry), size = strlen(entry->data), told = place;
    uint32_t sum = sum_of(entry->data, size) + (entry->trick == WRONG_SUM);
    if (entry->trick == AT_THE_END)
        told = whole - 29;
    if (entry->trick == ONE_LONGER)
        packed = whole - (place + 30 + strlen(entry->name)) + 1;
    if (entry->trick == ALL_WIDE || entry->trick == WIDE_SHORT)
        packed = size = FULL;
    if (entry->trick >= ALL_WIDE)
        told = FULL;
    nl_buf_init(&extra, 100);
    put_extra(&extra, entry, place);
    nl_buf_add(zip, "PK\1\2", 4);
    put_number(zip, 20, 2);
    put_number(zip, 20, 2);
    put_number(zip, entry->flags, 2);
    put_number(zip, entry->method, 2);
    put_number(zip, 0, 4);
    put_number(zip, sum, 4);
    put_number(zip, packed, 4);
    put_number(zip, size, 4);
    put_number(zip, strlen(entry->name), 2);
    put_number(zip, extra.len, 2);
    put_number(zip, entry->trick == OWN_EXTRA ? 7 : 0, 2);
    put_number(zip, 0, 8); /* disk, attributes of two kinds */
    put_number(zip, told, 4);
    nl_buf_text(zip, entry->name);
    nl_buf_add(zip, extra.ptr, extra.len);
    put_number(zip, 0, entry->trick == OWN_EXTRA ? 7 : 0);
    nl_buf_release(&extra);
}

/* Where things are said to be, besides what is true. */
struct ends {
    unsigned more;    /* entries than there are */
    bool wide;        /* numbers in the ZIP64 end alone */
    size_t comment;   /* bytes behind the end */
    unsigned further; /* the directory is said to begin so much later */
};

static void put_end(struct nl_buf *zip, size_t count, uint64_t directory, const struct ends *ends)
{
    uint64_t told = directory + ends->further;
    if (ends->wide) {
        uint64_t here = zip->len;
        nl_buf_add(zip, "PK\6\6", 4);
        put_number(zip, WIDE_SIZE - 12, 8);
        put_number(zip, 0, 20);
        put_number(zip, count + ends->more, 8);
        put_number(zip, zip->len - directory, 8);
        put_number(zip, told, 8);
        nl_buf_add(zip, "PK\6\7", 4);
        put_number(zip, 0, 4);
        put_number(zip, here, 8);
        put_number(zip, 1, 4);
    }
    nl_buf_add(zip, "PK\5\6", 4);
    put_number(zip, ends->wide ? 0xffffffff : 0, 4); /* numbers of disks */
    put_number(zip, 0, 2);
    put_number(zip, ends->wide ? 0xffff : count + ends->more, 2);
    put_number(zip, 0, 4);
    put_number(zip, ends->wide ? FULL : told, 4);
    put_number(zip, ends->comment, 2);
    for (size_t i = 0; i < ends->comment; i++)
        nl_buf_char(zip, 'c');
}

static size_t directory_size(const struct entry *entries, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        struct nl_buf one;
        nl_buf_init(&one, 1000);
        put_entry(&one, &entries[i], 0, 1000);
        size += one.len;
        nl_buf_release(&one);
    }
    return size;
}

static void put_zip(struct nl_buf *zip, const struct entry *entries, size_t count,
                    const struct ends *ends)
{
    uint64_t places[8];
    nl_buf_init(zip, 300000);
    for (size_t i = 0; i < count; i++) {
        places[i] = zip->len;
        put_file(zip, &entries[i]);
    }
    uint64_t directory = zip->len;
    uint64_t whole = directory + directory_size(entries, count) + END_SIZE + ends->comment +
                     (ends->wide ? WIDE_SIZE + SEEK_SIZE : 0);
    for (size_t i = 0; i < count; i++)
        put_entry(zip, &entries[i], places[i], whole);
    put_end(zip, count, directory, ends);
    CHECK_INT(zip->len, whole);
}

/* What is taken out of an archive, or "refused"; the caller releases taken->said. */
static void unpack_only(struct taken *taken, const char *bytes, size_t len, const char *only)
{
    struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_unpack unpack;
    nl_err_clear(&err);
    taken_begin(taken, &unpack, &job, len, only);
    unsigned char *exact = nl_alloc(len + !len); /* so that sanitizers see what is read behind it */
    memcpy(exact, bytes, len);
    if (!nl_archive_zip(&unpack, exact, len, &err)) {
        CHECK_INT(err.code, NL_FORMAT);
        nl_buf_text(&taken->said, "refused");
    }
    nl_free(exact);
    taken_end(taken, &unpack.told);
}

static void unpack(struct taken *taken, const char *bytes, size_t len)
{
    unpack_only(taken, bytes, len, NULL);
}

static const struct {
    const char *what;
    struct entry entries[4];
    const char *files;
} cases[] = {
    {"stored, deflated and empty",
     {{"a", "12", 0, 0, 0}, {"b", "hello", 8, 0, 0}, {"c", "", 0, 0, 0}},
     "a=12;b=hello;c=;"},
    {"a folder", {{"d/", "", 0, 0, 0}, {"d/a", "1", 0, 0, 0}}, "d/a=1;"},
    {"no name", {{"", "1", 0, 0, 0}, {"a", "2", 0, 0, 0}}, "a=2;"},
    {"a password", {{"a", "1", 0, 1, 0}, {"b", "2", 0, 0, 0}}, "b=2; locked 1"},
    {"other flags", {{"a", "1", 0, 8, 0}, {"b", "2", 0, 0x800, 0}}, "a=1;b=2;"},
    {"packed otherwise",
     {{"a", "1", 9, 0, 0}, {"b", "2", 12, 0, 0}, {"c", "3", 1, 0, 0}, {"d", "4", 0, 0, 0}},
     "d=4; unpacked 3"},
    {"a wrong sum",
     {{"a", "1", 0, 0, WRONG_SUM}, {"b", "hello", 8, 0, WRONG_SUM}},
     "a=1;b=hello; damaged 2"},
    {"another text than the sum's", {{"a", "Hello", 8, 0, 0}}, "a=hello; damaged 1"},
    {"no head", {{"a", "1", 0, 0, NO_HEAD}, {"b", "2", 0, 0, 0}}, "a=;b=2; damaged 1"},
    {"a head at the end", {{"a", "1", 0, 0, AT_THE_END}, {"b", "2", 0, 0, 0}}, "a=;b=2; damaged 1"},
    {"more bytes than there are",
     {{"a", "1", 0, 0, ONE_LONGER}, {"b", "2", 0, 0, 0}},
     "a=;b=2; damaged 1"},
    {"extra fields and comments",
     {{"a", "12", 0, 0, OWN_EXTRA}, {"b", "hello", 8, 0, OWN_EXTRA}, {"c", "3", 0, 0, 0}},
     "a=12;b=hello;c=3;"},
    {"sizes and place of ZIP64",
     {{"a", "12", 0, 0, 0}, {"b", "hello", 8, 0, ALL_WIDE}, {"c", "345", 0, 0, ALL_WIDE}},
     "a=12;b=hello;c=345;"},
    {"the place alone", {{"a", "12", 0, 0, 0}, {"b", "345", 0, 0, PLACE_WIDE}}, "a=12;b=345;"},
    {"numbers of ZIP64 that are not there",
     {{"a", "12", 0, 0, WIDE_SHORT}, {"b", "345", 0, 0, 0}},
     "a=;b=345; damaged 1"},
    {"a field longer than its room",
     {{"a", "12", 0, 0, WIDE_LONGER}, {"b", "345", 0, 0, 0}},
     "a=;b=345; damaged 1"},
};

static void files(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf zip;
        struct taken taken;
        size_t count = 0;
        while (count < 4 && cases[i].entries[count].name)
            count++;
        check_case(cases[i].what);
        for (int wide = 0; wide < 2; wide++) {
            put_zip(&zip, cases[i].entries, count, &(struct ends){.wide = wide});
            unpack(&taken, zip.ptr, zip.len);
            CHECK_TEXT(taken.said.ptr, cases[i].files);
            nl_buf_release(&taken.said);
            nl_buf_release(&zip);
        }
    }
}

static const struct entry two[] = {{"a", "1", 0, 0, 0}, {"b", "22", 0, 0, 0}};

static void only_one(void)
{
    static const char *const asked[][2] = {{"a", "a=1;"}, {"b", "b=22;"}, {"c", ""}};
    for (size_t i = 0; i < CHECK_LENGTH(asked); i++) {
        struct nl_buf zip;
        struct taken taken;
        check_case(asked[i][0]);
        put_zip(&zip, two, 2, &(struct ends){0});
        unpack_only(&taken, zip.ptr, zip.len, asked[i][0]);
        CHECK_TEXT(taken.said.ptr, asked[i][1]);
        nl_buf_release(&taken.said);
        nl_buf_release(&zip);
    }
}

static void directories(void)
{
    static const struct {
        const char *what;
        struct ends ends;
        const char *files;
    } ends[] = {
        {"a comment", {.comment = 5}, "a=1;b=22;"},
        {"the longest", {.comment = 65535}, "a=1;b=22;"},
        {"a longer one", {.comment = 65536}, "refused"},
        {"an entry more than there are", {.more = 1}, "a=1;b=22; cut 1"},
        {"and in ZIP64", {.more = 1, .wide = true}, "a=1;b=22; cut 1"},
        {"none where it should be", {.further = 1}, " cut 1"},
        {"behind the end", {.further = 200}, "refused"},
        {"behind the end in ZIP64", {.further = 400, .wide = true}, "refused"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(ends); i++) {
        struct nl_buf zip;
        struct taken taken;
        check_case(ends[i].what);
        put_zip(&zip, two, 2, &ends[i].ends);
        unpack(&taken, zip.ptr, zip.len);
        CHECK_TEXT(taken.said.ptr, ends[i].files);
        nl_buf_release(&taken.said);
        nl_buf_release(&zip);
    }
}

/* The directory's end must be there; every archive that is cut, and every one
 * whose first bytes are gone. */
static void cut(void)
{
    for (int wide = 0; wide < 2; wide++) {
        struct nl_buf zip;
        struct taken taken;
        put_zip(&zip, two, 2, &(struct ends){.wide = wide});
        for (size_t len = 0; len < zip.len; len++) {
            unpack(&taken, zip.ptr, len);
            CHECK_TEXT(taken.said.ptr, "refused");
            nl_buf_release(&taken.said);
        }
        for (size_t gone = 1; gone <= zip.len - END_SIZE; gone++) {
            unpack(&taken, zip.ptr + gone, zip.len - gone);
            CHECK(!strstr(taken.said.ptr, "=1;") && !strstr(taken.said.ptr, "=22;"));
            CHECK(strstr(taken.said.ptr, "refused") || strstr(taken.said.ptr, "cut 1"));
            nl_buf_release(&taken.said);
        }
        nl_buf_release(&zip);
    }
}

/* Around what is copied and inflated at once. */
static void sizes(void)
{
    static const unsigned lengths[] = {65535, 65536, 65537, 131072, 140000};
    for (size_t i = 0; i < CHECK_LENGTH(lengths); i++) {
        char want[40];
        char *data = nl_zalloc(lengths[i] + 1);
        struct nl_buf zip;
        struct taken taken;
        for (unsigned at = 0; at < lengths[i]; at++)
            data[at] = (char)('a' + at % 26);
        put_zip(&zip, (const struct entry[]){{"a", data, 0, 0, 0}, {"b", "2", 0, 0, 0}}, 2,
                &(struct ends){0});
        unpack(&taken, zip.ptr, zip.len);
        snprintf(want, sizeof want, "a=%u;b=2;", lengths[i]);
        CHECK_TEXT(taken.said.ptr, want);
        nl_buf_release(&taken.said);
        nl_buf_release(&zip);
        nl_free(data);
    }
}

CHECK_MAIN("archivezip", {"files", files}, {"only one", only_one}, {"directories", directories},
           {"cut", cut}, {"sizes", sizes})
