/* Open addressing by (module, offset). */
#include "capture/native/perfframes.h"

#include <string.h>

#include "base/mem.h"

#define TEXTS_MOST ((size_t)1 << 20)
#define NO_MODULE  UINT32_MAX

struct place {
    uint64_t offset;
    char *text; /* NULL = free */
    uint32_t module;
};

struct perfframes {
    const struct perfmaps *maps;
    struct place *slots;
    size_t count, room;
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
    nl_free(frames->slots);
    nl_arena_free(&frames->arena);
    nl_free(frames);
}

static struct place *slot_of(const struct perfframes *frames, uint32_t module, uint64_t offset)
{
    uint64_t hash = (offset + ((uint64_t)module << 40 | module)) * 0x9e3779b97f4a7c15u;
    size_t at = hash >> 24 & (frames->room - 1);
    while (frames->slots[at].text &&
           (frames->slots[at].module != module || frames->slots[at].offset != offset))
        at = (at + 1) & (frames->room - 1);
    return &frames->slots[at];
}

static void make_room(struct perfframes *frames)
{
    struct perfframes old = *frames;
    frames->room = old.room ? old.room * 2 : 256;
    frames->slots = nl_zalloc(frames->room * sizeof *frames->slots);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].text)
            *slot_of(frames, old.slots[i].module, old.slots[i].offset) = old.slots[i];
    nl_free(old.slots);
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
    if (frames->count * 2 >= frames->room)
        make_room(frames);
    struct place *slot = slot_of(frames, module, offset);
    if (slot->text)
        return slot->text;
    if (frames->count >= TEXTS_MOST)
        return "@(too many places)\t\t0x0";
    *slot = (struct place){offset, make_text(frames, module, offset), module};
    frames->count++;
    return slot->text;
}
