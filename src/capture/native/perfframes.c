/* Texts of places, by (module, offset). */
#include "capture/native/perfframes.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define MAX_TEXTS ((size_t)1 << 20)
#define NO_MODULE UINT32_MAX

struct place {
    uint64_t offset;
    char *text;
    uint32_t module;
};

struct perfframes {
    const struct perfmaps *maps;
    struct place *places;
    size_t count, cap;
    struct nl_lookup by_place;
    struct nl_arena arena;
};

struct perfframes *perfframes_new(const struct perfmaps *maps)
{
    struct perfframes *frames = nl_zalloc(sizeof *frames);
    frames->maps = maps;
    nl_arena_init(&frames->arena);
    return frames;
}

void perfframes_free(struct perfframes *frames)
{
    if (!frames)
        return;
    nl_free(frames->places);
    nl_lookup_release(&frames->by_place);
    nl_arena_free(&frames->arena);
    nl_free(frames);
}

/* Tabs and line ends divide fields: no path of a file may bring its own. */
static void clean(char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ')
            *path = '?';
}

static char *make_text(struct perfframes *frames, uint32_t module, uint64_t offset)
{
    if (module == NO_MODULE)
        return nl_arena_format(&frames->arena, "@[unknown]\t\t0x%llx", (unsigned long long)offset);
    const struct perfmaps_module *from = perfmaps_module_at(frames->maps, module);
    char *path = nl_arena_text(&frames->arena, from->path, strlen(from->path));
    clean(path);
    return nl_arena_format(&frames->arena, "@%s\t%s\t0x%llx", path, from->id,
                           (unsigned long long)offset);
}

const char *perfframes_text(struct perfframes *frames, const struct perfmaps_process *process,
                            uint64_t address)
{
    const struct perfmaps_mapping *mapping = perfmaps_at(process, address);
    uint32_t module = mapping ? mapping->module : NO_MODULE;
    uint64_t offset = address;
    if (mapping && perfmaps_module_at(frames->maps, module)->is_file)
        offset = address - mapping->start + mapping->file_offset;
    uint64_t hash = nl_hash_pair(offset, module);
    uint32_t row =
        NL_LOOKUP(&frames->by_place, hash, i,
                  frames->places[i].module == module && frames->places[i].offset == offset);
    if (row != NL_NO_ROW)
        return frames->places[row].text;
    if (frames->count >= MAX_TEXTS)
        return "@(too many places)\t\t0x0";
    nl_grow(&frames->places, &frames->cap, frames->count + 1);
    nl_lookup_add(&frames->by_place, hash, (uint32_t)frames->count);
    struct place *place = &frames->places[frames->count++];
    *place = (struct place){offset, make_text(frames, module, offset), module};
    return place->text;
}
