/*
 * crc — CRC-32C, the checksum of our own files (.nlt, .nla): it finds damage, not intent.
 */
#ifndef NL_CRC_H
#define NL_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t nl_crc32c(const void *bytes, size_t len);

#endif
