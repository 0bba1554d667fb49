/*
 * perfettoprofile — the fields of Perfetto's protos that its profilers write: GPU stages and
 * counters, ftrace, call stacks and heaps; a list per message, under the names they have in
 * protos/perfetto/trace/ {gpu,ftrace,profiling}. The others are in perfettofields.h.
 */
#ifndef NL_PERFETTOPROFILE_H
#define NL_PERFETTOPROFILE_H

/* ---- gpu ---- */

/* GpuRenderStageEvent; its ids of a queue are deprecated in favour of iids */
enum {
    STAGE_DURATION = 2,
    STAGE_HW_QUEUE_ID = 3,
    STAGE_GPU_ID = 11,
    STAGE_HW_QUEUE_IID = 13,
    STAGE_STAGE_IID = 14,
    STAGE_NAME = 17,
    STAGE_KERNEL_IID = 19,
    STAGE_NAME_IID = 20,
    STAGE_LAUNCH = 21
};
enum { LAUNCH_GRID_SIZE = 1, LAUNCH_WORKGROUP_SIZE = 2 };
enum { DIM3_X = 1, DIM3_Y = 2, DIM3_Z = 3 };

/* GpuCounterEvent, GpuCounter, GpuCounterDescriptor, GpuCounterSpec */
enum {
    COUNTER_EVENT_DESCRIPTOR = 1,
    COUNTER_EVENT_COUNTERS = 2,
    COUNTER_EVENT_GPU_ID = 3,
    COUNTER_EVENT_DESCRIPTOR_IID = 4
};
enum { GPU_COUNTER_ID = 1, GPU_COUNTER_INT_VALUE = 2, GPU_COUNTER_DOUBLE_VALUE = 3 };
enum { COUNTER_DESCRIPTOR_SPECS = 1 };
enum {
    COUNTER_SPEC_ID = 1,
    COUNTER_SPEC_NAME = 2,
    COUNTER_SPEC_NUMERATOR_UNITS = 7,
    COUNTER_SPEC_DENOMINATOR_UNITS = 8
};

/* ---- ftrace ---- */

/* FtraceEventBundle, FtraceEvent */
enum { BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST_EVENTS = 3, BUNDLE_COMPACT_SCHED = 4 };
enum {
    FTRACE_TIMESTAMP = 1,
    FTRACE_PID = 2,
    FTRACE_PRINT = 3,
    FTRACE_SCHED_SWITCH = 4,
    FTRACE_CPU_FREQUENCY = 11
};
/* SchedSwitchFtraceEvent, PrintFtraceEvent, CpuFrequencyFtraceEvent */
enum { SWITCH_PREV_STATE = 4, SWITCH_NEXT_COMM = 5, SWITCH_NEXT_PID = 6 };
enum { PRINT_BUF = 2 };
enum { FREQUENCY_STATE = 1, FREQUENCY_CPU_ID = 2 };
enum {
    COMPACT_SWITCH_TIMESTAMP = 1,
    COMPACT_SWITCH_PREV_STATE = 2,
    COMPACT_SWITCH_NEXT_PID = 3,
    COMPACT_INTERN_TABLE = 5,
    COMPACT_SWITCH_NEXT_COMM_INDEX = 6
};

/* ---- profiling ---- */

/* PerfSample, StreamingProfilePacket */
enum {
    SAMPLE_CPU = 1,
    SAMPLE_PID = 2,
    SAMPLE_TID = 3,
    SAMPLE_CALLSTACK_IID = 4,
    SAMPLE_KERNEL_RECORDS_LOST = 17,
    SAMPLE_SKIPPED_REASON = 18,
    SAMPLE_PRODUCER_EVENT = 19
};
enum { STREAMING_CALLSTACK_IID = 1, STREAMING_TIMESTAMP_DELTA_US = 2 };

/* Mapping, Frame, Callstack: interned. TrackEvent's own Callstack and Frame: inline. */
enum { MAPPING_PATH_STRING_IDS = 7 };
enum {
    FRAME_FUNCTION_NAME_ID = 2,
    FRAME_MAPPING_ID = 3,
    FRAME_SOURCE_PATH_IID = 5,
    FRAME_LINE_NUMBER = 6
};
enum { CALLSTACK_FRAME_IDS = 2 };
enum { INLINE_CALLSTACK_FRAMES = 1 };
enum { INLINE_FRAME_FUNCTION_NAME = 1, INLINE_FRAME_SOURCE_FILE = 2, INLINE_FRAME_LINE_NUMBER = 3 };

/* ProfilePacket, ProcessHeapSamples, HeapSample */
enum {
    PROFILE_STRINGS = 1,
    PROFILE_FRAMES = 2,
    PROFILE_CALLSTACKS = 3,
    PROFILE_MAPPINGS = 4,
    PROFILE_PROCESS_DUMPS = 5
};
enum {
    HEAP_DUMP_PID = 1,
    HEAP_DUMP_SAMPLES = 2,
    HEAP_DUMP_REJECTED_CONCURRENT = 4,
    HEAP_DUMP_BUFFER_OVERRAN = 7,
    HEAP_DUMP_BUFFER_CORRUPTED = 8,
    HEAP_DUMP_TIMESTAMP = 9,
    HEAP_DUMP_HIT_GUARDRAIL = 10,
    HEAP_DUMP_HEAP_NAME = 11
};
enum {
    HEAP_SAMPLE_CALLSTACK_ID = 1,
    HEAP_SAMPLE_SELF_ALLOCATED = 2,
    HEAP_SAMPLE_SELF_FREED = 3,
    HEAP_SAMPLE_ALLOC_COUNT = 5,
    HEAP_SAMPLE_FREE_COUNT = 6,
    HEAP_SAMPLE_SELF_MAX = 8,
    HEAP_SAMPLE_SELF_MAX_COUNT = 9
};

#endif
