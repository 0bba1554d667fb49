/* See perfline.h. A header is matched from its first number on; comm is what stands before it. */
#include "ingest/stacks/perfline.h"

#include "base/chars.h"
#include "base/hex.h"
#include "base/units.h"
#include "store/schema.h"

#define MAX_COMM 64 /* Linux has 15 */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digits(struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!nl_is_digit(text.ptr[i]))
            return false;
    return text.len > 0;
}

static struct nl_str skip_space(struct nl_str text)
{
    while (text.len && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    return text;
}

static struct nl_str cut_space(struct nl_str text)
{
    while (text.len && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* The next word; `text` is moved past it. Empty at the end. */
static struct nl_str take_word(struct nl_str *text)
{
    *text = skip_space(*text);
    size_t len = 0;
    while (len < text->len && !is_space(text->ptr[len]))
        len++;
    struct nl_str word = {text->ptr, len};
    *text = (struct nl_str){text->ptr + len, text->len - len};
    return word;
}

/* "12" or "12/34". With one number it is the thread: perf prints tid where it prints one. */
static bool take_ids(struct nl_str word, struct perfline_header *header)
{
    const char *slash = memchr(word.ptr, '/', word.len);
    struct nl_str first = {word.ptr, slash ? (size_t)(slash - word.ptr) : word.len};
    header->pid = NL_NULL_I64;
    if (!is_digits(first) || !nl_parse_i64(first, &header->tid))
        return false;
    if (!slash)
        return true;
    struct nl_str second = {slash + 1, word.len - first.len - 1};
    header->pid = header->tid;
    return is_digits(second) && nl_parse_i64(second, &header->tid);
}

static bool take_cpu(struct nl_str word, int64_t *cpu)
{
    if (word.len < 3 || word.ptr[0] != '[' || word.ptr[word.len - 1] != ']')
        return false;
    struct nl_str digits = {word.ptr + 1, word.len - 2};
    return is_digits(digits) && nl_parse_i64(digits, cpu);
}

/* "1234.567890:" in seconds. */
static bool take_time(struct nl_str word, int64_t *time)
{
    if (word.len < 3 || word.ptr[word.len - 1] != ':' || !memchr(word.ptr, '.', word.len))
        return false;
    for (size_t i = 0; i + 1 < word.len; i++)
        if (!nl_is_digit(word.ptr[i]) && word.ptr[i] != '.')
            return false;
    return nl_decimal_shifted((struct nl_str){word.ptr, word.len - 1}, 9, time);
}

/* Up to two spaces or a tab: fields of branch lines are padded, words inside them are not. */
static struct nl_str take_field(struct nl_str *text)
{
    *text = skip_space(*text);
    size_t len = 0;
    while (len < text->len && text->ptr[len] != '\t' &&
           !(text->ptr[len] == ' ' && len + 1 < text->len && is_space(text->ptr[len + 1])))
        len++;
    struct nl_str field = {text->ptr, len};
    *text = (struct nl_str){text->ptr + len, text->len - len};
    return field;
}

static bool is_branch_kind(struct nl_str kind)
{
    static const char *const kinds[] = {"call",    "return",  "jcc",    "jmp",     "int",
                                        "iret",    "syscall", "sysret", "async",   "hw int",
                                        "tx abrt", "tr strt", "tr end", "vmentry", "vmexit"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (nl_str_starts(kind, kinds[i]))
            return true;
    return false;
}

static bool take_branch(struct nl_str text, struct perfline_header *header)
{
    struct nl_str kind = take_field(&text);
    struct perfline_frame frame;
    if (!is_branch_kind(kind))
        return false;
    (void)take_field(&text); /* where it went */
    header->event = kind;
    header->rest = skip_space(text);
    header->is_branch = true;
    return perfline_frame(header->rest, &frame);
}

/* Letters, digits and what is between them: `cycles:ppp:`, `cpu/event=0x3c,umask=0x1/:`. */
static bool is_event(struct nl_str word)
{
    if (word.len < 2 || word.ptr[word.len - 1] != ':' || nl_is_digit(word.ptr[0]))
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (strchr("'\"(){}<>;!?$\\`", word.ptr[i]))
            return false;
    return true;
}

/* What follows the ids, up to the event. */
static bool take_tail(struct nl_str text, struct perfline_header *header)
{
    struct nl_str after = text, word = take_word(&after);
    if (take_cpu(word, &header->cpu)) {
        text = after;
        word = take_word(&after);
    }
    if (take_time(word, &header->time_ns)) {
        text = after;
        word = take_word(&after);
    }
    if (header->time_ns != NL_NULL_I64 && take_branch(text, header))
        return true;
    if (is_digits(word) && nl_parse_i64(word, &header->period))
        word = take_word(&after);
    if (!is_event(word))
        return false;
    header->event = (struct nl_str){word.ptr, word.len - 1};
    header->rest = cut_space(skip_space(after));
    struct perfline_frame frame; /* without a time, nothing else may follow */
    return header->time_ns != NL_NULL_I64 || !header->rest.len ||
           perfline_frame(header->rest, &frame);
}

bool perfline_header(struct nl_str line, struct perfline_header *header)
{
    struct nl_str text = skip_space(line);
    const char *start = text.ptr;
    (void)take_word(&text); /* comm has one word at least */
    for (unsigned words = 0; words < 16; words++) {
        struct nl_str comm = cut_space((struct nl_str){start, (size_t)(text.ptr - start)});
        struct nl_str word = take_word(&text);
        if (!word.len || comm.len > MAX_COMM)
            return false;
        *header = (struct perfline_header){
            .comm = comm, .cpu = NL_NULL_I64, .time_ns = NL_NULL_I64, .period = NL_NULL_I64};
        if (take_ids(word, header) && take_tail(text, header))
            return true;
    }
    return false;
}

/* Takes "+0x1a" off the end. */
static struct nl_str without_offset(struct nl_str symbol)
{
    size_t at = symbol.len;
    while (at && nl_hex_digit(symbol.ptr[at - 1]) >= 0)
        at--;
    if (at > 3 && at < symbol.len && memcmp(symbol.ptr + at - 3, "+0x", 3) == 0)
        symbol.len = at - 3;
    return symbol;
}

bool perfline_frame(struct nl_str line, struct perfline_frame *frame)
{
    struct nl_str address = take_word(&line);
    uint64_t at;
    line = cut_space(skip_space(line));
    *frame = (struct perfline_frame){0};
    if (!nl_hex_u64(address, &at) || !line.len)
        return false;
    size_t open = line.len, gone = sizeof " (deleted))" - 1;
    if (line.len > gone && memcmp(line.ptr + line.len - gone, " (deleted))", gone) == 0)
        open -= gone; /* part of the module's name */
    if (line.ptr[line.len - 1] == ')')
        while (open && !(line.ptr[open - 1] == '(' && (open == 1 || is_space(line.ptr[open - 2]))))
            open--;
    else
        open = 0;
    if (open) {
        struct nl_str module = {line.ptr + open, line.len - open - 1};
        if (!nl_str_is(module, "inlined")) /* says how it was called, not from where */
            frame->module = module;
        line = cut_space((struct nl_str){line.ptr, open - 1});
    }
    frame->symbol = without_offset(line); /* empty where a module follows at once */
    return true;
}

bool perfline_is_trouble(struct nl_str line)
{
    return nl_str_starts(skip_space(line), "instruction trace error");
}
