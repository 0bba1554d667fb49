/* The protobuf cursor: every wire type, the edges of varints, damage and the cut of every byte. */
#include "check.h"
#include "parse/wire.h"

static struct wire over(const char *bytes, size_t len)
{
    return wire_over(bytes, len);
}
#define OVER(text) over(text, sizeof(text) - 1)

static void reads_varints(void)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        uint64_t value;
        bool ok;
    } cases[] = {
        {"zero", "\x00", 1, 0, true},
        {"one byte", "\x7f", 1, 127, true},
        {"two bytes", "\x80\x01", 2, 128, true},
        {"overlong zero", "\x80\x80\x00", 3, 0, true},
        {"largest", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, true},
        {"65 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, false},
        {"eleven bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0, false},
        {"cut", "\x80\x80", 2, 0, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        struct wire wire = over(cases[i].bytes, cases[i].len);
        uint64_t value = 0;
        CHECK_INT(wire_varint(&wire, &value), cases[i].ok);
        CHECK(value == cases[i].value);
        CHECK_INT(wire.damaged, !cases[i].ok);
    }
    struct wire none = over("", 0);
    uint64_t value;
    CHECK(!wire_varint(&none, &value) && !none.damaged);
}

/* Every length, with bytes after it (taken eight at a time) and without (one at a time). */
static void reads_varints_of_any_length(void)
{
    static const uint64_t rests[] = {0, 1, 0x5a5a5a5a5a5a5a5a, UINT64_MAX};
    for (unsigned bits = 0; bits <= 64; bits++)
        for (size_t r = 0; r < CHECK_LENGTH(rests); r++) {
            uint64_t top = bits ? (uint64_t)1 << (bits - 1) : 0, value = 0, left;
            uint64_t want = top | (rests[r] & (top ? top - 1 : 0));
            unsigned char bytes[24];
            size_t len = 0;
            for (left = want; left >= 0x80; left >>= 7)
                bytes[len++] = (unsigned char)(left | 0x80);
            bytes[len++] = (unsigned char)left;
            memset(bytes + len, 0xff, sizeof bytes - len);
            for (size_t after = 0; after < 10; after += 9) {
                struct wire wire = wire_over(bytes, len + after);
                CHECK(wire_varint(&wire, &value) && !wire.damaged);
                CHECK(value == want);
                CHECK(wire.at == bytes + len);
            }
        }
}

static void reads_fields(void)
{
    struct wire wire = OVER("\x08\x96\x01"                         /* 1: 150 */
                            "\x12\x03\x61\x62\x63"                 /* 2: "abc" */
                            "\x19\x00\x00\x00\x00\x00\x00\xf8\x3f" /* 3: 1.5 */
                            "\x25\x00\x00\x00\x3f"                 /* 4: 0.5f */
                            "\x2b\x08\x01\x2b\x2c\x2c"             /* 5: a group with one inside */
                            "\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* 6: -1 */
                            "\x3a\x04\x01\x80\x01\x03");                   /* 7: packed */
    struct wire_field field;
    REQUIRE(wire_next(&wire, &field));
    CHECK_INT(field.number, 1);
    CHECK_INT(wire_i64(&field), 150);
    CHECK_INT(wire_inside(&field).at == NULL, 1);
    REQUIRE(wire_next(&wire, &field));
    CHECK_STR(wire_str(&field), "abc");
    CHECK(wire_is_text(&field) && !wire_is_varint(&field));
    REQUIRE(wire_next(&wire, &field));
    CHECK_NEAR(wire_f64(&field), 1.5, 0);
    REQUIRE(wire_next(&wire, &field));
    CHECK_NEAR(wire_f64(&field), 0.5, 0);
    REQUIRE(wire_next(&wire, &field));
    CHECK_INT(field.type, WIRE_GROUP);
    REQUIRE(wire_next(&wire, &field));
    CHECK_INT(wire_i64(&field), -1);
    REQUIRE(wire_next(&wire, &field));
    struct wire packed = wire_inside(&field);
    uint64_t value, sum = 0;
    while (wire_varint(&packed, &value))
        sum += value;
    CHECK(sum == 132 && !packed.damaged);
    CHECK(!wire_next(&wire, &field) && !wire.damaged);
    CHECK_INT(wire_zigzag(1), -1);
    CHECK_INT(wire_zigzag(UINT64_MAX), INT64_MIN);
}

static void stops_at_damage(void)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
    } cases[] = {
        {"field number 0", "\x00\x01", 2},
        {"wire type 7", "\x0f\x01", 2},
        {"end of no group", "\x0c", 1},
        {"text longer than the rest", "\x12\x05\x61", 3},
        {"a length of 2^63", "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11},
        {"half a double", "\x19\x00\x00", 3},
        {"half a float", "\x25\x00", 2},
        {"an open group", "\x2b\x08\x01", 3},
        {"a group closed by another", "\x2b\x34", 2},
        {"a tag over 32 bits", "\x80\x80\x80\x80\x10\x01", 6},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        struct wire wire = over(cases[i].bytes, cases[i].len);
        struct wire_field field;
        CHECK(!wire_next(&wire, &field));
        CHECK(wire.damaged);
        CHECK((const char *)wire.at == cases[i].bytes);
    }
}

static void clips_a_cut_field(void)
{
    struct wire wire = OVER("\x08\x01\x12\x05\x61\x62");
    struct wire_field field;
    CHECK(wire_next(&wire, &field));
    CHECK(!wire_clip(&wire, &field));
    CHECK(!wire_next(&wire, &field));
    REQUIRE(wire_clip(&wire, &field));
    CHECK_INT(field.number, 2);
    CHECK_STR(wire_str(&field), "ab");
    struct wire number = OVER("\x08\x80");
    CHECK(!wire_next(&number, &field) && !wire_clip(&number, &field));
}

static void knows_a_sound_prefix(void)
{
    static const char bytes[] = "\x08\x01\x12\x03\x61\x62\x63\x08\x02";
    size_t fields;
    bool cut;
    CHECK_INT(wire_sound_prefix(bytes, 9, 2, &fields, &cut), 9);
    CHECK(fields == 3 && !cut);
    CHECK_INT(wire_sound_prefix(bytes, 5, 2, &fields, &cut), 2);
    CHECK(fields == 1 && cut);
    CHECK_INT(wire_sound_prefix(bytes, 9, 1, &fields, &cut), 2);
    CHECK(fields == 1 && !cut);
    CHECK_INT(wire_sound_prefix("{\"a\": 1}", 8, 10, &fields, &cut), 0);
    CHECK(fields == 0 && !cut);
    CHECK_INT(wire_sound_prefix("", 0, 10, &fields, &cut), 0);
}

CHECK_MAIN("wire", {"reads varints", reads_varints},
           {"reads varints of any length", reads_varints_of_any_length},
           {"reads fields", reads_fields}, {"stops at damage", stops_at_damage},
           {"clips a cut field", clips_a_cut_field}, {"knows a sound prefix", knows_a_sound_prefix})
