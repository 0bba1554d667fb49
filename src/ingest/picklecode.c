/*
 * Opcodes of pickles that are never carried out.
 */
#include "ingest/picklewatch.h"

const char *pickle_code_opcode(unsigned char opcode)
{
    static const struct {
        unsigned char opcode;
        const char *name;
    } names[] = {{'c', "GLOBAL"},   {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},
                 {'i', "INST"},     {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
                 {0x82, "EXT1"},    {0x83, "EXT2"},         {0x84, "EXT4"},   {'P', "PERSID"},
                 {'Q', "BINPERSID"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].opcode == opcode)
            return names[i].name;
    return NULL;
}
