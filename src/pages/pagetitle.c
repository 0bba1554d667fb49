/* pagetitle — what a page is called: the file, or what the names of many files have in common. */
#include "pages/page.h"

#include "base/utf8.h"

#define MIN_COMMON 4 /* letters that all names have; fewer say nothing */

/* Of paths of this system, in which a backslash is a character of a name. */
static struct nl_str file_name_of(const struct nl_result *files, size_t row)
{
    const struct nl_cell *cell = nl_result_cell(files, row, 0);
    struct nl_str name = cell->type == NL_CELL_TEXT ? cell->text : nl_str("");
    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] == '/')
            return (struct nl_str){name.ptr + i + 1, name.len - i - 1};
    return name;
}

/* Lengths of the longest beginning and end that all names have; whole characters of UTF-8. */
static void find_common(const struct nl_result *files, size_t *head, size_t *tail)
{
    struct nl_str first = file_name_of(files, 0);
    *head = *tail = first.len;
    for (size_t row = 1; row < files->rows; row++) {
        struct nl_str name = file_name_of(files, row);
        size_t same = 0;
        while (same < *head && same < name.len && name.ptr[same] == first.ptr[same])
            same++;
        *head = same;
        for (same = 0; same < *tail && same < name.len &&
                       name.ptr[name.len - 1 - same] == first.ptr[first.len - 1 - same];)
            same++;
        *tail = same;
    }
    if (*head + *tail > first.len)
        *tail = first.len - *head;
    *head = nl_utf8_cut(first.ptr, first.len, *head);
    while (*tail && ((unsigned char)first.ptr[first.len - *tail] & 0xc0) == 0x80)
        --*tail;
}

const char *nl_page_title(const struct nl_profile *profile, struct nl_arena *arena)
{
    const struct nl_result *files = profile->files;
    const char *word = nl_profile_files_word(profile);
    if (!files->rows || !file_name_of(files, 0).len)
        return nl_arena_format(arena, "%u %s", profile->file_count, word);
    struct nl_str name = file_name_of(files, 0);
    if (profile->file_count == 1)
        return nl_arena_text(arena, name.ptr, name.len);
    size_t head, tail;
    find_common(files, &head, &tail);
    if (head == name.len)
        return nl_arena_format(arena, "%.*s (%u %s)", (int)name.len, name.ptr, profile->file_count,
                               word);
    if (head + tail < MIN_COMMON || !head)
        return nl_arena_format(arena, "%u %s", profile->file_count, word);
    return nl_arena_format(arena, "%.*s*%.*s (%u %s)", (int)head, name.ptr, (int)tail,
                           name.ptr + name.len - tail, profile->file_count, word);
}
