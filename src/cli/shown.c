/* What one write ends within, a character or a colour, waits for the next. */
#define _GNU_SOURCE
#include "cli/shown.h"

#include <errno.h>
#include <unistd.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/str.h"
#include "view/celltext.h"

#define MAX_KEPT 32 /* no colour of ours is as long */

struct shown {
    int descriptor;
    size_t kept_len;
    char kept[MAX_KEPT];
};

/* Letters of the colour that `text` begins with; 0 = it is none, text.len + 1 = more must come. */
static size_t colour_length(struct nl_str text)
{
    size_t at = 2;
    if (text.len > 1 && text.ptr[1] != '[')
        return 0;
    while (at < text.len && (nl_is_digit(text.ptr[at]) || text.ptr[at] == ';'))
        at++;
    if (at >= text.len)
        return text.len < MAX_KEPT ? text.len + 1 : 0;
    return text.ptr[at] == 'm' ? at + 1 : 0;
}

/* The same for any piece of text that may be shown. */
static size_t piece_length(struct nl_str text)
{
    unsigned char first = (unsigned char)text.ptr[0];
    if (first == '\n' || first == '\t')
        return 1;
    if (first == '\r')
        return text.len < 2 ? 2 : text.ptr[1] == '\n' ? 2 : 0;
    if (first == '\033')
        return colour_length(text);
    size_t harmless = nl_celltext_harmless(text);
    size_t wanted = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return harmless || wanted <= text.len ? harmless : text.len + 1;
}

static bool write_all(int descriptor, const char *text, size_t len)
{
    while (len) {
        ssize_t done = write(descriptor, text, len);
        if (done < 0 && errno != EINTR)
            return false;
        text += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* With `end`, nothing more comes: what waits is incomplete for good. */
static bool pass(struct shown *shown, const char *bytes, size_t len, bool end)
{
    struct nl_buf text, clean;
    nl_buf_init(&text, SIZE_MAX);
    nl_buf_init(&clean, SIZE_MAX);
    nl_buf_add(&text, shown->kept, shown->kept_len);
    nl_buf_add(&text, bytes, len);
    shown->kept_len = 0;
    for (size_t at = 0; at < text.len;) {
        struct nl_str rest = {text.ptr + at, text.len - at};
        size_t piece = piece_length(rest);
        if (piece > rest.len && !end) {
            memcpy(shown->kept, rest.ptr, rest.len);
            shown->kept_len = rest.len;
            break;
        }
        if (piece && piece <= rest.len)
            nl_buf_add(&clean, rest.ptr, piece);
        else
            nl_buf_text(&clean, "\xEF\xBF\xBD");
        at += piece && piece <= rest.len ? piece : 1;
    }
    bool done = !clean.overflow && write_all(shown->descriptor, clean.ptr, clean.len);
    nl_buf_release(&text);
    nl_buf_release(&clean);
    return done;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t len)
{
    return pass(cookie, bytes, len, false) ? (ssize_t)len : 0;
}

static int on_close(void *cookie)
{
    struct shown *shown = cookie;
    bool done = pass(shown, "", 0, true);
    nl_free(shown);
    return done ? 0 : EOF;
}

FILE *nl_shown_open(int descriptor)
{
    struct shown *shown = nl_zalloc(sizeof *shown);
    shown->descriptor = descriptor;
    FILE *stream =
        fopencookie(shown, "w", (cookie_io_functions_t){.write = on_write, .close = on_close});
    if (stream)
        (void)setvbuf(stream, NULL, _IOLBF, 0);
    else
        nl_free(shown);
    return stream;
}
