/* Text that is no UTF-8, made so. */
#include "export/bytes.h"

#include "base/utf8.h"

void bytes_utf8(struct bytes *bytes, struct nl_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t start = 0;
    for (size_t i = 0; i < text.len;) {
        size_t len = p[i] < 0x80 ? 1 : nl_utf8_length(p + i, text.len - i);
        if (!len) {
            bytes_add(bytes, p + start, i - start);
            bytes_add(bytes, "\xEF\xBF\xBD", 3);
            start = i + 1;
        }
        i += len ? len : 1;
    }
    bytes_add(bytes, p + start, text.len - start);
}

void bytes_tag_text(struct bytes *bytes, uint32_t field, struct nl_str text)
{
    struct bytes good = {0};
    bool plain = true;
    for (size_t i = 0; i < text.len && plain; i++)
        plain = (unsigned char)text.ptr[i] < 0x80;
    if (plain) {
        bytes_tag_bytes(bytes, field, text.ptr, text.len);
        return;
    }
    bytes_utf8(&good, text);
    bytes_tag_message(bytes, field, &good);
    bytes_release(&good);
}
