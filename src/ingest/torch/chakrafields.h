/* chakrafields — the fields of Chakra's et_def.proto (github.com/mlcommons/chakra) that are
 * read, a list per message. */
#ifndef NL_CHAKRAFIELDS_H
#define NL_CHAKRAFIELDS_H

enum { GLOBAL_METADATA_VERSION = 1, GLOBAL_METADATA_ATTR = 2 };

enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DATA_DEPS = 5,
    NODE_START_TIME_MICROS = 6,
    NODE_DURATION_MICROS = 7,
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTR = 10,
    NODE_HIGHEST = 15 /* what newer versions may add */
};

/* IOInfo: each a text as Python prints lists */
enum { IO_INFO_VALUES = 1, IO_INFO_SHAPES = 2, IO_INFO_TYPES = 3 };

/* AttributeProto: a value of any of 30 types; those whose text depends on the type */
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_DOUBLE_VAL = 3,
    ATTRIBUTE_FLOAT_VAL = 5,
    ATTRIBUTE_UINT32_VAL = 11,
    ATTRIBUTE_UINT64_VAL = 13,
    ATTRIBUTE_SINT32_VAL = 15,
    ATTRIBUTE_SINT64_VAL = 17,
    ATTRIBUTE_BOOL_VAL = 27,
    ATTRIBUTE_STRING_VAL = 29
};

#endif
