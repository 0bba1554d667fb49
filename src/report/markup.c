/* markup — see markup.h. */
#define _GNU_SOURCE
#include "report/markup.h"

#include <sys/types.h>

#include "base/digest.h"
#include "base/hex.h"
#include "view/celltext.h"

void nl_markup_html(FILE *out, struct nl_str text)
{
    struct nl_buf safe;
    nl_buf_init(&safe, (size_t)1 << 28);
    nl_celltext_safe(&safe, text);
    for (size_t i = 0; i < safe.len; i++)
        switch (safe.ptr[i]) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: putc(safe.ptr[i], out);
        }
    nl_buf_release(&safe);
}

static ssize_t write_escaped(void *cookie, const char *bytes, size_t size)
{
    FILE *out = cookie;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '<')
            fputs("\\u003c", out);
        else
            putc(bytes[i], out);
    return ferror(out) ? 0 : (ssize_t)size;
}

FILE *nl_markup_json(FILE *out, struct nl_err *err)
{
    FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){.write = write_escaped});
    if (!stream)
        (void)nl_fail(err, NL_MEMORY, "no memory for a stream");
    return stream;
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void nl_markup_base64(struct nl_buf *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i < 3 ? size - i : 3;
        unsigned bits = 0;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < left ? bytes[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            nl_buf_char(out, j <= left ? letters[bits >> (18 - 6 * j) & 63] : '=');
    }
}

bool nl_markup_hash(char text[NL_MARKUP_HASH], const void *bytes, size_t size, struct nl_err *err)
{
    char hex[NL_DIGEST_TEXT], *to = text;
    if (!nl_digest_bytes(hex, bytes, size, err))
        return false;
    for (const char *prefix = "sha256-"; *prefix; prefix++)
        *to++ = *prefix;
    for (size_t i = 0; i < 64;
         i += 6) { /* 3 bytes, 6 digits, 4 letters; the last 2 bytes are 3 letters */
        unsigned bits = 0;
        for (size_t j = 0; j < 6; j++)
            bits = bits << 4 | (i + j < 64 ? (unsigned)nl_hex_digit(hex[i + j]) : 0);
        for (int shift = 18; shift >= 0; shift -= 6)
            *to++ = letters[bits >> shift & 63];
    }
    to[-1] = '=';
    *to = '\0';
    return true;
}

const char *nl_markup_meaning(enum nl_meaning meaning)
{
    static const char *const words[] = {
        [NL_MEANS_TEXT] = NULL,
        [NL_MEANS_INTEGER] = "id",
        [NL_MEANS_COUNT] = "count",
        [NL_MEANS_NS] = "ns",
        [NL_MEANS_BYTES] = "bytes",
        [NL_MEANS_SHARE] = "share",
        [NL_MEANS_NUMBER] = "number",
        [NL_MEANS_RATE] = "bytes/s",
        [NL_MEANS_HERTZ] = "Hz",
        [NL_MEANS_FLOPS] = "FLOP/s",
        [NL_MEANS_WEIGHT] = "weight",
        [NL_MEANS_UNIT] = "unit",
        [NL_MEANS_ANY] = NULL,
        [NL_MEANS_CHANGE_NS] = "change_ns",
        [NL_MEANS_CHANGE_SHARE] = "change_share",
    };
    return (size_t)meaning < sizeof words / sizeof *words ? words[meaning] : NULL;
}
