/* waitname — see waitname.h. The last word of a dotted or scoped name decides; for unsure words
 * also the class, module or file around it. */
#include "timeline/waitname.h"

#include "base/chars.h"
#include "base/mem.h"

static const struct {
    const char *word;
    bool sure, lock;
} waits[] = {
#define NL_WAIT_NAME(word, sure, lock) {word, sure, lock},
#include "timeline/waitnames.def"
};

static const char *const places[] = {
#define NL_WAIT_PLACE(text) text,
#include "timeline/waitnames.def"
};

static const struct {
    const char *function, *file;
} frames[] = {
#define NL_WAIT_FRAME(function, file) {function, file},
#include "timeline/waitnames.def"
};

/* End of the last word before arguments, places, templates and versions of symbols. */
static size_t plain_end(struct nl_str name)
{
    size_t end = 0;
    while (end < name.len && !strchr(" (<@", name.ptr[end]))
        end++;
    return end;
}

/* Of "<method 'acquire' of '_thread.lock' objects>", "<built-in method time.sleep>", "<built-in
 * method acquire of _thread.lock object at 0x7f01>". */
static size_t method_end(struct nl_str name)
{
    static const char builtin[] = "<built-in method ";
    size_t from = 0, past = sizeof builtin - 1;
    if (nl_str_starts(name, builtin)) {
        while (past < name.len && (nl_is_word(name.ptr[past]) || name.ptr[past] == '.'))
            past++;
        return past;
    }
    while (from < name.len && name.ptr[from] != '\'' && name.ptr[from] != '.')
        from++;
    size_t end = from + 1;
    while (end < name.len && nl_is_word(name.ptr[end]))
        end++;
    return end < name.len ? end : name.len;
}

/* Of "threading.py(359): wait" what follows the place. */
static struct nl_str without_place(struct nl_str name)
{
    for (size_t i = 0; i + 3 < name.len; i++)
        if (name.ptr[i] == ')' && name.ptr[i + 1] == ':' && name.ptr[i + 2] == ' ')
            return (struct nl_str){name.ptr + i + 3, name.len - i - 3};
    return name;
}

/* Of "threading.py(359): wait" the file. */
static struct nl_str python_file(struct nl_str name, struct nl_str function)
{
    struct nl_str file = {name.ptr, name.len - function.len};
    while (file.len && file.ptr[file.len - 1] != '(')
        file.len--;
    file.len -= file.len > 0;
    return file;
}

/* Without what marks a symbol as internal: "__GI___poll" is "poll". */
static struct nl_str plain_word(struct nl_str word)
{
    while (word.len && word.ptr[0] == '_') {
        word = (struct nl_str){word.ptr + 1, word.len - 1};
        if (nl_str_starts(word, "GI_"))
            word = (struct nl_str){word.ptr + 3, word.len - 3};
    }
    return word;
}

static bool is_place(struct nl_str text)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (nl_str_contains(text, places[i]))
            return true;
    return false;
}

static bool is_of_texts(struct nl_str name)
{
    return nl_str_contains(name, "'str'") || nl_str_contains(name, "'bytes'") ||
           nl_str_contains(name, "path");
}

/* An unsure word: a bare name without a file is a system call's; else its surroundings
 * must be of those that wait. */
static bool is_told(struct nl_str name, struct nl_str file, struct nl_str word)
{
    bool bare = word.ptr == name.ptr && word.len == name.len;
    struct nl_str before = {name.ptr, (size_t)(word.ptr - name.ptr)};
    struct nl_str after = {word.ptr + word.len, name.len - before.len - word.len};
    if (is_of_texts(name) || is_of_texts(file))
        return false;
    if (bare && !nl_str_contains(file, ".py"))
        return true;
    return is_place(before) || is_place(after) || is_place(file);
}

/* What a socket does is sending or waiting for the other side. */
static bool is_of_socket(struct nl_str name, struct nl_str word)
{
    static const char *const words[] = {"read", "connect", "do_handshake", "recv_into"};
    struct nl_str before = {name.ptr, (size_t)(word.ptr - name.ptr)};
    bool socket = nl_str_find_nocase(before, "socket.") >= 0;
    for (size_t i = 0; socket && i < sizeof words / sizeof words[0]; i++)
        if (nl_str_is(word, words[i]))
            return true;
    return nl_str_is(word, "get") && nl_str_contains(name, "'_queue.SimpleQueue'");
}

/* "…/lib/python3.12/multiprocessing/pool.py", "…\\multiprocessing\\pool.py",
 * "multiprocessing/pool.py". */
static bool is_file(struct nl_str path, const char *end)
{
    size_t length = strlen(end), from = path.len - length;
    if (path.len < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (path.ptr[from + i] != end[i] && !(path.ptr[from + i] == '\\' && end[i] == '/'))
            return false;
    return !from || strchr("/\\", path.ptr[from - 1]);
}

/* Of "get (/usr/lib/python3.12/queue.py:171)" the file, and the function into *name; the file
 * that is known, else none. */
static struct nl_str file_behind(struct nl_str *name, struct nl_str file)
{
    size_t open = plain_end(*name), end = name->len;
    if (file.len || open + 2 >= end || name->ptr[open] != ' ' || name->ptr[open + 1] != '(')
        return file;
    while (end > open + 2 && name->ptr[end - 1] != ':')
        end--;
    end -= end > open + 2;
    file = (struct nl_str){name->ptr + open + 2, end - open - 2};
    name->len = open;
    return file;
}

/* Most texts differ in their first letters. */
static bool is_word(struct nl_str text, const char *word)
{
    return text.len && text.ptr[0] == word[0] && nl_str_is(text, word);
}

static bool is_frame(struct nl_str name, struct nl_str file)
{
    file = file_behind(&name, file);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++)
        if (is_word(name, frames[i].function) && is_file(file, frames[i].file))
            return true;
    return false;
}

/* Whether it waits, and whether for a lock or another thread. */
static bool find_wait(struct nl_str name, struct nl_str file, bool *lock)
{
    *lock = false;
    struct nl_str function = without_place(name);
    if (function.ptr != name.ptr && !file.len)
        file = python_file(name, function);
    if (is_frame(function, file))
        return true;
    size_t end = plain_end(function), start;
    if (!end && function.len)
        end = method_end(function);
    for (start = end; start && nl_is_word(function.ptr[start - 1]); start--)
        ;
    struct nl_str word = {function.ptr + start, end - start}, plain = plain_word(word);
    if (is_of_socket(function, word))
        return true;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (is_word(plain, waits[i].word)) {
            bool found = waits[i].sure || is_told(function, file, word);
            *lock = found && waits[i].lock;
            return found;
        }
    return false;
}

bool nl_is_wait_frame(struct nl_str name, struct nl_str file)
{
    bool lock;
    return find_wait(name, file, &lock);
}

bool nl_is_lock_name(struct nl_str name)
{
    bool lock;
    return find_wait(name, (struct nl_str){NULL, 0}, &lock) && lock;
}

bool nl_is_wait_name(struct nl_str name)
{
    return nl_is_wait_frame(name, (struct nl_str){NULL, 0});
}

void nl_wait_names_init(struct nl_wait_names *names, const struct nl_trace *trace)
{
    *names = (struct nl_wait_names){trace, nl_zalloc((size_t)trace->names.count + 1)};
}

void nl_wait_names_release(struct nl_wait_names *names)
{
    nl_free(names->known);
}

bool nl_wait_names_has(struct nl_wait_names *names, uint32_t name)
{
    uint8_t *known = &names->known[name];
    if (!*known)
        *known = nl_is_wait_name(nl_trace_name(names->trace, name)) ? 2 : 1;
    return *known == 2;
}

bool nl_is_on_cpu(struct nl_str event)
{
    static const char *const starts[] = {"cpu", "task-clock", "cycles", "instructions"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(event, starts[i]))
            return true;
    return false;
}

bool nl_is_lock_event(struct nl_str event)
{
    static const char *const words[] = {"contention", "delay", "mutex"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_find_nocase(event, words[i]) >= 0)
            return true;
    return nl_str_is(event, "block");
}
