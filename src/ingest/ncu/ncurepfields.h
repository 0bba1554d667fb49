/*
 * ncurepfields — the fields of the messages in reports of Nsight Compute that are read, a list per
 * message, named as in the .proto files that Nsight Compute brings (extras/FileFormat).
 */
#ifndef NL_NCUREPFIELDS_H
#define NL_NCUREPFIELDS_H

enum { FILE_HEADER_VERSION = 1 };

/* BlockHeader, its StringTable and Process */
enum {
    BLOCK_NUM_SOURCES = 1,
    BLOCK_NUM_RESULTS = 2,
    BLOCK_SESSION_DETAILS = 3,
    BLOCK_STRING_TABLE = 4,
    BLOCK_PAYLOAD_SIZE = 5,
    BLOCK_PROCESS = 6,
    BLOCK_NUM_RANGE_RESULTS = 7,
    BLOCK_NUM_CMDLIST_RESULTS = 8,
    BLOCK_NUM_GRAPH_RESULTS = 9
};
enum { STRING_TABLE_STRINGS = 1 };
enum { PROCESS_PROCESS_ID = 1, PROCESS_PROCESS_NAME = 3 };

/* SessionDetails, its DeviceAttributes and properties */
enum { SESSION_DEVICES = 6, SESSION_PROPERTIES = 8 };
enum { DEVICE_ORDINAL = 1, DEVICE_ATTRIBUTES = 3 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_VALUE = 2 };
enum { PROPERTY_KEY = 1, PROPERTY_VALUE = 2 };

/* SourceData */
enum { SOURCE_DATA_ID = 1, SOURCE_DATA_PROGRAM = 4 };

/* ProfileResult: one kernel */
enum {
    RESULT_KERNEL_MANGLED_NAME = 5,
    RESULT_KERNEL_FUNCTION_NAME = 6,
    RESULT_KERNEL_DEMANGLED_NAME = 7,
    RESULT_GRID_SIZE = 10,
    RESULT_BLOCK_SIZE = 11,
    RESULT_METRIC_RESULTS = 13,
    RESULT_SOURCE = 15,
    RESULT_SECTIONS = 17,
    RESULT_RULE_RESULTS = 19,
    RESULT_NVTX = 21,
    RESULT_CONTEXT_ID = 22,
    RESULT_STREAM_ID = 23
};
enum { SIZE_X = 1, SIZE_Y = 2, SIZE_Z = 3 };
enum { SOURCE_ID = 1 };

/* MetricResult, one of its instances, MetricValue */
enum { METRIC_NAME_ID = 1, METRIC_VALUE = 2, METRIC_INSTANCES = 3 };
enum { INSTANCE_KEY = 1, INSTANCE_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_FLOAT = 2, VALUE_DOUBLE = 3, VALUE_UINT32 = 4, VALUE_UINT64 = 5 };

/* Section, its header and the metrics of that */
enum { SECTION_DISPLAY_NAME = 2, SECTION_HEADER = 4 };
enum { HEADER_METRICS = 2 };
enum { HEADER_METRIC_NAME = 1 };

/* RuleResult, its body, an item of that and its message */
enum { RULE_IDENTIFIER = 1, RULE_BODY = 3, RULE_SECTION_IDENTIFIER = 4 };
enum { BODY_ITEMS = 1 };
enum { BODY_ITEM_MESSAGE = 1 };
enum { MESSAGE_TEXT = 1 };

#endif
