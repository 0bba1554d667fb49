/* CRC-32C by isa-l, which takes an int as length: longer ones go in parts. */
#include "base/crc.h"

#include <isa-l/crc.h>

uint32_t nl_crc32c(const void *bytes, size_t len)
{
    uint32_t crc = 0xffffffffu;
    const unsigned char *at = bytes;
    while (len) {
        int part = len > (1u << 30) ? 1 << 30 : (int)len;
        crc = crc32_iscsi((unsigned char *)(uintptr_t)at, part, crc);
        at += part;
        len -= (size_t)part;
    }
    return ~crc;
}
