/* xplanefields — the fields of xplane.proto (github.com/openxla/xla, tsl/profiler) that are
 * read, a list per message. */
#ifndef NL_XPLANEFIELDS_H
#define NL_XPLANEFIELDS_H

enum { XSPACE_PLANES = 1, XSPACE_ERRORS = 2, XSPACE_WARNINGS = 3, XSPACE_HOSTNAMES = 4 };
enum {
    XPLANE_FIELD_ID = 1,
    XPLANE_FIELD_NAME = 2,
    XPLANE_FIELD_LINES = 3,
    XPLANE_FIELD_EVENT_METADATA = 4,
    XPLANE_FIELD_STAT_METADATA = 5,
    XPLANE_FIELD_STATS = 6
};
enum {
    XLINE_ID = 1,
    XLINE_NAME = 2,
    XLINE_TIMESTAMP_NS = 3,
    XLINE_EVENTS = 4,
    XLINE_DISPLAY_NAME = 11
};
enum {
    XEVENT_METADATA_ID = 1,
    XEVENT_OFFSET_PS = 2,
    XEVENT_DURATION_PS = 3,
    XEVENT_STATS = 4,
    XEVENT_OCCURRENCES = 5 /* in place of the offset: an aggregate */
};
enum {
    XSTAT_METADATA_ID = 1,
    XSTAT_DOUBLE = 2,
    XSTAT_UINT64 = 3,
    XSTAT_INT64 = 4,
    XSTAT_STRING = 5,
    XSTAT_BYTES = 6,
    XSTAT_REFERENCE = 7
};
enum {
    XEVENT_METADATA_NAME = 2,
    XEVENT_METADATA_METADATA = 3,
    XEVENT_METADATA_DISPLAY_NAME = 4,
    XEVENT_METADATA_STATS = 5
};
enum { XSTAT_METADATA_NAME = 2 };
enum { MAP_ENTRY_KEY = 1, MAP_ENTRY_VALUE = 2 };

#endif
