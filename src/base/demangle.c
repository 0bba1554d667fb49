/* See demangle.h. */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define MAX_SYMBOL 4096u /* libiberty gives up far below */

struct taker {
    struct nl_buf *name;
    jmp_buf end;
};

bool nl_is_mangled(struct nl_str symbol)
{
    if (nl_str_starts(symbol, "__")) /* as macOS writes each name of C */
        symbol.ptr++, symbol.len--;
    return symbol.len > 2 && symbol.len < MAX_SYMBOL && symbol.ptr[0] == '_' &&
           (symbol.ptr[1] == 'Z' || symbol.ptr[1] == 'R');
}

/* A name that is too long would be made to its end, which may be never. libiberty has memory in
 * hand while it passes on letters beyond ASCII, and only then: the jump waits for other text. */
static void take(const char *text, size_t len, void *opaque)
{
    struct taker *taker = opaque;
    bool ascii = true;
    for (size_t i = 0; i < len; i++)
        ascii = ascii && (unsigned char)text[i] < 0x80;
    nl_buf_add(taker->name, text, len);
    if (taker->name->overflow && ascii)
        longjmp(taker->end, 1);
}

bool nl_demangle(struct nl_str symbol, struct nl_buf *name)
{
    char text[MAX_SYMBOL];
    struct taker taker = {.name = name};
    nl_buf_clear(name);
    if (!nl_is_mangled(symbol))
        return false;
    if (nl_str_starts(symbol, "__"))
        symbol.ptr++, symbol.len--;
    memcpy(text, symbol.ptr, symbol.len);
    text[symbol.len] = 0;
    if (setjmp(taker.end))
        return false;
    if (!rust_demangle_callback(text, DMGL_PARAMS, take, &taker)) {
        nl_buf_clear(name);
        if (text[1] != 'Z' ||
            !cplus_demangle_v3_callback(text, DMGL_PARAMS | DMGL_TYPES, take, &taker))
            return false;
    }
    return name->len && !name->overflow;
}
