/* Layouts of CPython's structures, from the table and from what new interpreters publish. */
#include "capture/python/pylayout.h"

#include <stdio.h>
#include <string.h>

#define OLDEST    9u
#define NEWEST    14u
#define CANDIDATE 0xcu /* release candidates and releases */
#define DESCRIBED 13u  /* from this version on interpreters describe themselves */
#define MAX_FIELD (1u << 20)
#define WORD_FLAG 0x80000000u
#define WORD(n)   (WORD_FLAG | (n))
#define NONE      PYLAYOUT_NONE
#define COOKIE    "xdebugpy"

static const uint32_t table[][NEWEST - OLDEST + 1] = {
#define PYFIELD(name, v9, v10, v11, v12, v13, v14) {v9, v10, v11, v12, v13, v14},
#include "capture/python/pylayout.def"
#undef PYFIELD
};

static const size_t places[] = {
#define PYFIELD(name, v9, v10, v11, v12, v13, v14) offsetof(struct pylayout, name),
#include "capture/python/pylayout.def"
#undef PYFIELD
};
#define FIELDS (sizeof places / sizeof places[0])

#define UNLIKE                                                                                     \
    "does not describe its structures as it should: run the program with an unchanged CPython"

static bool refuse_version(char *why, size_t room, uint32_t version, const char *text)
{
    if (!version)
        (void)snprintf(why, room, "CPython before 3.9 %s", text);
    else
        (void)snprintf(why, room, "CPython %u.%u.%u %s", version >> 24, version >> 16 & 0xff,
                       version >> 8 & 0xff, text);
    return false;
}

/* Words 0 to 2 are the cookie, the version and whether it is built without the GIL. */
static bool describes_itself(uint32_t version, const uint64_t *words, char *why, size_t room)
{
    if (memcmp(&words[0], COOKIE, 8) != 0 || (uint32_t)words[1] != version)
        return refuse_version(why, room, version, UNLIKE);
    if (words[2])
        return refuse_version(
            why, room, version,
            "without the GIL is not sampled: run the program with the usual build");
    return true;
}

/* What is read of a frame is inside it, and no larger than frames are. */
static bool is_sane(const struct pylayout *layout)
{
    const uint32_t within[] = {layout->frame_previous, layout->frame_code, layout->frame_at,
                               layout->frame_owner == NONE ? 0 : layout->frame_owner};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        if (within[i] >= layout->frame_size)
            return false;
    return layout->object_size == 2 * sizeof(uint64_t) && layout->object_type == sizeof(uint64_t) &&
           layout->frame_size <= PYLAYOUT_MAX_FRAME;
}

/* The fields of a version; false when one is beyond reason. */
static bool take_fields(struct pylayout *layout, uint32_t minor, const uint64_t *words)
{
    for (size_t i = 0; i < FIELDS; i++) {
        uint32_t value = table[i][minor - OLDEST];
        if (value != NONE && value & WORD_FLAG) {
            uint64_t told = words[value & ~WORD_FLAG];
            if (told > MAX_FIELD)
                return false;
            value = (uint32_t)told;
        }
        memcpy((char *)layout + places[i], &value, sizeof value);
    }
    return is_sane(layout);
}

bool pylayout_for(struct pylayout *layout, uint32_t version, const uint64_t words[PYLAYOUT_WORDS],
                  char *why, size_t room)
{
    uint32_t minor = version >> 16 & 0xff, level = version >> 4 & 0xf;
    if (version >> 24 != 3 || minor < OLDEST || minor > NEWEST)
        return refuse_version(why, room, version,
                              "is not known: run the program with 3.9 to 3.14, which are sampled");
    if (level < CANDIDATE)
        return refuse_version(
            why, room, version,
            "is a version for tests, whose structures are not known: run the program "
            "with a release");
    if (minor >= DESCRIBED && !describes_itself(version, words, why, room))
        return false;
    if (!take_fields(layout, minor, words))
        return refuse_version(why, room, version, UNLIKE);
    layout->lines = minor < 10 ? PYLINES_LNOTAB : minor < 11 ? PYLINES_PAIRS : PYLINES_LOCATIONS;
    layout->at_scale = minor < 10 ? 1 : minor < 11 ? 2 : 0;
    return true;
}
