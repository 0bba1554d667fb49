/* Files are opened when the first place in them is asked for, and stay open. */
#define _GNU_SOURCE
#include "ingest/symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ingest/symbols/elfsymbols.h"
#include "ingest/symbols/jitnames.h"

#define MAX_FILES  4096u /* of all recordings; a process has some hundred at most */
#define MAX_SHARED 128u  /* that stay open from recording to recording */
#define FILES_TEXT 200u

struct file {
    char *path, *id;
    struct elfsymbols *elf; /* NULL: see state */
    enum elfsymbols_state state;
};

struct symbols_files {
    struct file *files;
    size_t count, cap, latest;
};

struct symbols {
    struct symbols_process process;
    struct symbols_files *files, *own; /* own: to be freed with it */
    struct jitnames *jit;
    bool jit_asked;
    uint64_t nameless[SYMBOLS_REASONS];
    char named[SYMBOLS_REASONS][FILES_TEXT]; /* files without names */
};

struct symbols_files *symbols_files_new(void)
{
    return nl_zalloc(sizeof(struct symbols_files));
}

static void close_files(struct symbols_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        nl_free(files->files[i].path);
        nl_free(files->files[i].id);
        elfsymbols_close(files->files[i].elf);
    }
    nl_free(files->files);
    *files = (struct symbols_files){0};
}

void symbols_files_free(struct symbols_files *files)
{
    if (!files)
        return;
    close_files(files);
    nl_free(files);
}

struct symbols *symbols_new(const struct symbols_process *process, struct symbols_files *files)
{
    struct symbols *symbols = nl_zalloc(sizeof *symbols);
    if (files && files->count > MAX_SHARED)
        close_files(files);
    symbols->process = *process;
    symbols->own = files ? NULL : symbols_files_new();
    symbols->files = files ? files : symbols->own;
    return symbols;
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    symbols_files_free(symbols->own);
    jitnames_close(symbols->jit);
    nl_free(symbols);
}

static char *copy_text(struct nl_str text)
{
    char *made = nl_zalloc(text.len + 1);
    memcpy(made, text.ptr, text.len);
    return made;
}

static bool is_file(const struct file *file, struct nl_str path, struct nl_str id)
{
    return nl_str_is(path, file->path) && nl_str_is(id, file->id);
}

static const struct file *file_of(struct symbols_files *known, struct nl_str path, struct nl_str id)
{
    static const struct file none = {.state = ELFSYMBOLS_MISSING};
    if (known->count && is_file(&known->files[known->latest], path, id))
        return &known->files[known->latest];
    for (size_t i = 0; i < known->count; i++)
        if (is_file(&known->files[i], path, id)) {
            known->latest = i;
            return &known->files[i];
        }
    if (known->count >= MAX_FILES)
        return &none;
    nl_grow(&known->files, &known->cap, known->count + 1);
    known->latest = known->count;
    struct file *file = &known->files[known->count++];
    *file = (struct file){.path = copy_text(path), .id = copy_text(id)};
    file->elf = elfsymbols_open(file->path, nl_str(file->id), &file->state);
    return file;
}

static void count(struct symbols *symbols, enum symbols_reason reason, struct nl_str path)
{
    char *files = symbols->named[reason];
    size_t used = strlen(files);
    symbols->nameless[reason]++;
    while (path.len && memchr(path.ptr, '/', path.len)) {
        path.ptr++;
        path.len--;
    }
    if (!path.len || used + path.len + 3 > FILES_TEXT ||
        memmem(files, used, path.ptr, path.len) != NULL)
        return;
    (void)snprintf(files + used, FILES_TEXT - used, "%s%.*s", used ? ", " : "", (int)path.len,
                   path.ptr);
}

/* Code outside files; its offset is an address. */
static bool find_jit(struct symbols *symbols, struct nl_str path, uint64_t address,
                     struct symbols_place *place)
{
    const struct symbols_process *process = &symbols->process;
    if (path.len && path.ptr[0] == '[' && path.ptr[1] != 'u' && path.ptr[1] != 'h') {
        place->function = path; /* [kernel], [vdso]; not [unknown], [heap] */
        return true;
    }
    if (!symbols->jit_asked)
        symbols->jit = jitnames_open(process->pid, process->begin, process->end);
    symbols->jit_asked = true;
    if (symbols->jit)
        place->function = jitnames_find(symbols->jit, address);
    if (!place->function.len)
        count(symbols, SYMBOLS_MADE, path);
    return place->function.len > 0;
}

bool symbols_find(struct symbols *symbols, struct nl_str path, struct nl_str id, uint64_t offset,
                  struct symbols_place *place)
{
    static const enum symbols_reason reasons[ELFSYMBOLS_STATES] = {
        SYMBOLS_STRIPPED, SYMBOLS_MISSING, SYMBOLS_CHANGED};
    struct elfsymbols_place found;
    *place = (struct symbols_place){0};
    if (!id.len && (path.len < 2 || path.ptr[0] != '/' || path.ptr[1] == '/' ||
                    nl_str_starts(path, "/memfd:") || nl_str_starts(path, "/dev/zero")))
        return find_jit(symbols, path, offset, place);
    const struct file *file = file_of(symbols->files, path, id);
    if (file->elf) {
        elfsymbols_find(file->elf, offset, &found);
        if (found.function)
            place->function = (struct nl_str){
                found.function, strcspn(found.function, "@")}; /* versions follow an @ */
        if (found.file) {
            place->file = nl_str(found.file);
            place->line = found.line;
        }
    }
    if (!place->function.len)
        count(symbols, reasons[file->state], path);
    return place->function.len > 0;
}

uint64_t symbols_nameless(const struct symbols *symbols, enum symbols_reason reason,
                          const char **files)
{
    *files = symbols->named[reason];
    return symbols->nameless[reason];
}
