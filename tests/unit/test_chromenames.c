/*
 * Names of Chrome traces (ingest/chrome/chrome_names.c): UTF-8 beside a second reader, which
 * decodes each sequence and asks what it may not be (RFC 3629: overlong, a surrogate, beyond
 * U+10FFFF); nothing behind the name is looked at.
 */
#include "base/mem.h"
#include "check.h"

#include "ingest/chrome/chrome_work.h"

/* Length of the sequence at p, 0: none. By its number, not by ranges of bytes. */
static size_t sequence(const unsigned char *p, size_t room)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80       ? 1
                 : p[0] >> 5 == 6  ? 2
                 : p[0] >> 4 == 14 ? 3
                 : p[0] >> 3 == 30 ? 4
                                   : 0;
    unsigned long code = len == 1 ? p[0] : p[0] & (0x7Fu >> len);
    if (!len || len > room)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 63);
    }
    return code < least[len] || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF ? 0 : len;
}

static struct nl_str by_hand(const char *text, size_t len, char *out)
{
    size_t room = 0;
    for (size_t at = 0; at < len;) {
        size_t is = sequence((const unsigned char *)text + at, len - at);
        memcpy(out + room, is ? text + at : "\xEF\xBF\xBD", is ? is : 3);
        room += is ? is : 3;
        at += is ? is : 1;
    }
    return (struct nl_str){out, room};
}

/* The name stands between two others: what reads on meets a byte that would
 * go on with a sequence. */
static void same(struct chrome_names *names, const unsigned char *bytes, size_t len)
{
    char text[16] = "", out[64];
    for (int behind = 0; behind < 2; behind++) {
        memset(text, behind ? 0x80 : 'z', sizeof text);
        memcpy(text, bytes, len);
        struct nl_str want = by_hand(text, len, out);
        struct nl_str got = chrome_names_decode(names, (struct nl_str){text, len}, false);
        bool same = got.len == want.len && memcmp(got.ptr, want.ptr, got.len) == 0;
        if (!same) { /* of which bytes, for the one that differs alone: there are millions */
            snprintf(text, sizeof text, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
            check_case(text);
            CHECK(same);
            check_case(NULL);
        }
    }
}

static void all_sequences(void)
{
    static const unsigned char edges[] = {0x00, 0x20, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F,
                                          0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xF0, 0xFF};
    for (unsigned first = 0x20; first < 256; first++) {
        struct chrome_names names; /* anew: it keeps what it repaired */
        unsigned char bytes[4] = {(unsigned char)first};
        chrome_names_init(&names, NULL, NULL);
        for (unsigned second = 0; second < 256; second++) {
            bytes[1] = (unsigned char)second;
            same(&names, bytes, 1);
            same(&names, bytes, 2);
            for (size_t i = 0; i < CHECK_LENGTH(edges); i++) {
                bytes[2] = edges[i];
                same(&names, bytes, 3);
                for (size_t k = 0; k < CHECK_LENGTH(edges) && first >= 0xE0; k++) {
                    bytes[3] = edges[k];
                    same(&names, bytes, 4);
                }
            }
        }
        chrome_names_release(&names);
    }
}

/* Escapes by RFC 8259; a surrogate without its partner becomes U+FFFD, what is no escape stays. */
static void escapes(void)
{
    static const struct {
        const char *raw, *decoded;
    } cases[] = {
        {"\\u0041", "A"},
        {"\\u00e9|", "\xC3\xA9|"},
        {"\\u00E9", "\xC3\xA9"},
        {"\\u007f\\u0080", "\x7F\xC2\x80"},
        {"\\u07ff\\u0800", "\xDF\xBF\xE0\xA0\x80"},
        {"\\ud7ff\\ue000", "\xED\x9F\xBF\xEE\x80\x80"},
        {"\\ud83d\\ude00", "\xF0\x9F\x98\x80"},
        {"\\ud83d\\ude00.", "\xF0\x9F\x98\x80."},
        {"\\uD800\\uDC00", "\xF0\x90\x80\x80"},
        {"\\udbff\\udfff", "\xF4\x8F\xBF\xBF"},
        {"\\ud83d", "\xEF\xBF\xBD"},
        {"\\ude00", "\xEF\xBF\xBD"},
        {"\\ud83d\\ude0", "\xEF\xBF\xBD\\ude0"},
        {"\\ud83d\\ud83d\\ude00", "\xEF\xBF\xBD\xF0\x9F\x98\x80"},
        {"\\ude00\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\\ud83d\\ue000", "\xEF\xBF\xBD\xEE\x80\x80"},
        {"\\ud83d\\n12345", "\xEF\xBF\xBD\n12345"},
        {"\\ud83dude00", "\xEF\xBF\xBDude00"},
        {"\\u004", "\\u004"},
        {"\\u00g1", "\\u00g1"},
        {"\\u", "\\u"},
        {"\\", "\\"},
        {"\\x", "\\x"},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
    };
    struct chrome_names names;
    chrome_names_init(&names, NULL, NULL);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        size_t len = strlen(cases[i].raw);
        char *raw = nl_alloc(len); /* so that sanitizers see what reads on */
        memcpy(raw, cases[i].raw, len);
        check_case(cases[i].raw);
        CHECK_STR(chrome_names_decode(&names, (struct nl_str){raw, len}, true), cases[i].decoded);
        nl_free(raw);
    }
    chrome_names_release(&names);
}

/* A text keeps its slot until another one takes it; what was seen before that has
 * the same id all the same. */
static void slots_are_taken(void)
{
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    struct chrome_names names;
    char texts[2][32 + 8] = {"[[4, 8], [8, 16]]"}; /* 8 bytes around a text are read */
    chrome_names_init(&names, builder, NULL);
    struct nl_str first = nl_str(texts[0]);
    struct chrome_text_slot *slot = chrome_texts_slot(&names.texts, first, false);
    REQUIRE(slot);
    uint32_t number = (uint32_t)(slot - names.texts.slots), serial = slot->serial;
    CHECK_INT(slot->kept, CHROME_NOT_KEPT);
    uint32_t id = chrome_names_seen(&names, number, serial, first);
    CHECK_INT(slot->kept, id);
    CHECK_INT(chrome_names_id(&names, first, false), id);
    CHECK_INT(slot->serial, serial);
    struct nl_str other = {texts[1], 0};
    for (unsigned i = 0; slot->serial == serial && i < 1000 * CHROME_TEXT_SLOTS; i++) {
        other.len = (size_t)snprintf(texts[1], 32, "[%u]", i);
        (void)chrome_texts_slot(&names.texts, other, false);
    }
    REQUIRE(slot->serial != serial);
    CHECK_INT(slot->kept, CHROME_NOT_KEPT);
    uint32_t second = chrome_names_seen(&names, number, slot->serial, other);
    CHECK(second != id);
    CHECK_INT(chrome_names_seen(&names, number, serial, first), id);
    CHECK_INT(chrome_names_id(&names, other, false), second);
    char *endless = nl_zalloc(10000);
    memset(endless, 'x', 9990);
    CHECK(!chrome_texts_slot(&names.texts, (struct nl_str){endless, 9990}, false));
    CHECK(chrome_names_id(&names, (struct nl_str){endless, 9990}, false) != id);
    nl_free(endless);
    chrome_names_release(&names);
    nl_builder_free(builder);
}

CHECK_MAIN("chromenames", {"all sequences of UTF-8", all_sequences}, {"escapes", escapes},
           {"slots are taken", slots_are_taken})
