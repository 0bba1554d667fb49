/* markup — see markup.h. */
#define _GNU_SOURCE
#include "pages/markup.h"

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

#define DIGEST_BYTES 32 /* of SHA-256 */

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
    char hex[NL_DIGEST_TEXT];
    unsigned char digest[DIGEST_BYTES];
    struct nl_buf out;
    if (!nl_digest_bytes(hex, bytes, size, err))
        return false;
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        digest[i] = (unsigned char)(nl_hex_digit(hex[2 * i]) << 4 | nl_hex_digit(hex[2 * i + 1]));
    nl_buf_init(&out, NL_MARKUP_HASH);
    nl_buf_text(&out, "sha256-");
    nl_markup_base64(&out, digest, DIGEST_BYTES);
    memcpy(text, out.ptr, out.len + 1);
    nl_buf_release(&out);
    return true;
}
