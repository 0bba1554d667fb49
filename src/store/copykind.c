/* copykind — see copykind.h. */
#include "store/copykind.h"

enum nl_copykind nl_copykind_of_cupti(int64_t number)
{
    static const uint8_t kinds[NL_COPY_COUNT] = {
#define NL_COPYKIND(identifier, text, number, label, pages) [number] = NL_COPY_##identifier,
#include "store/copykind.def"
    };
    return number >= 0 && number < NL_COPY_COUNT ? kinds[number] : NL_COPY_UNKNOWN;
}

enum nl_copykind nl_copykind_of_text(struct nl_str text)
{
    static const struct {
        const char *part;
        enum nl_copykind kind;
    } spellings[] = {
        {"HtoD", NL_COPY_HTOD},           {"DtoH", NL_COPY_DTOH},
        {"DtoD", NL_COPY_DTOD},           {"PtoP", NL_COPY_PTOP},
        {"HtoH", NL_COPY_HTOH},           {"HtoA", NL_COPY_HTOA},
        {"AtoH", NL_COPY_ATOH},           {"AtoA", NL_COPY_ATOA},
        {"AtoD", NL_COPY_ATOD},           {"DtoA", NL_COPY_DTOA},
        {"HostToDevice", NL_COPY_HTOD},   {"DeviceToHost", NL_COPY_DTOH},
        {"DeviceToDevice", NL_COPY_DTOD}, {"PeerToPeer", NL_COPY_PTOP},
        {"HostToHost", NL_COPY_HTOH},     {"HOST_TO_DEVICE", NL_COPY_HTOD},
        {"DEVICE_TO_HOST", NL_COPY_DTOH}, {"DEVICE_TO_DEVICE", NL_COPY_DTOD},
        {"HOST_TO_HOST", NL_COPY_HTOH},   {"Host-to-Device", NL_COPY_HTOD},
        {"Device-to-Host", NL_COPY_DTOH}, {"Device-to-Device", NL_COPY_DTOD},
        {"Peer-to-Peer", NL_COPY_PTOP},   {"Host-to-Host", NL_COPY_HTOH},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (nl_str_find_nocase(text, spellings[i].part) >= 0)
            return spellings[i].kind;
    return NL_COPY_UNKNOWN;
}

bool nl_copykind_moves_pages(enum nl_copykind kind)
{
    static const bool moves[NL_COPY_COUNT] = {
#define NL_COPYKIND(identifier, text, number, label, pages) [NL_COPY_##identifier] = pages,
#include "store/copykind.def"
    };
    return kind < NL_COPY_COUNT && moves[kind];
}
