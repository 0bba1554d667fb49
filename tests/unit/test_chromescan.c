/* Where events and lists end, in every way that the processor has. */
#include "check.h"

#include "base/mem.h"
#include "ingest/chrome/chrome_scan.h"

/* The cut of random texts against a byte-by-byte reading. */
static void cuts_are_exact(void)
{
    static const char alphabet[] = "{}[]\"\\,: aaaa\"\"{}";
    enum { LENGTH = 20000 };
    char *text = nl_alloc(LENGTH + CHROME_PAD);
    uint64_t state = 88172645463325252u;
    for (unsigned round = 0; round < 600; round++) {
        size_t len = round * 67 % LENGTH + 1;
        const char *events_end = NULL, *list_end = NULL;
        bool string = false, escaped = false;
        int depth = 0;
        for (size_t i = 0; i < len; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char c = alphabet[state % (sizeof alphabet - 1)];
            c = i < round % 50 ? '[' : c; /* so that some go on for long before they fall */
            text[i] = c;
            if (list_end)
                continue;
            if (escaped || c == '\\') {
                escaped = !escaped;
            } else if (c == '"') {
                string = !string;
            } else if (!string && (c == '{' || c == '[')) {
                depth++;
            } else if (!string && (c == '}' || c == ']')) {
                depth--;
                events_end = depth == 0 ? text + i + 1 : events_end;
                list_end = depth < 0 ? text + i : NULL;
            }
        }
        memset(text + len, '"', CHROME_PAD);
        for (unsigned way = 0; way < chrome_scan_ways(); way++) {
            struct chrome_cut cut = chrome_find_cut_by(way, text, text + len);
            CHECK(cut.list_end == list_end);
            CHECK(cut.events_end == events_end);
        }
    }
    nl_free(text);
}

/* Every row of brackets at small depths: where the list ends in it,
 * although events end further on. */
static void falls_are_found(void)
{
    enum { ROW = 10, WORD = 64, FAR = 5000, LENGTH = FAR + 4096, DEPTHS = 4 };
    char *text = nl_alloc(LENGTH + CHROME_PAD), *row = text + WORD;
    memset(text, ' ', LENGTH);
    memset(text + LENGTH, '"', CHROME_PAD);
    for (unsigned round = 0; round < DEPTHS << ROW; round++) {
        int depth = (int)(round >> ROW), later = FAR;
        const char *events_end = NULL, *list_end = NULL;
        memset(text, ' ', WORD);
        memset(text, '[', (size_t)depth);
        for (unsigned i = 0; i < ROW; i++) {
            row[i] = round >> i & 1 ? '}' : '[';
            depth += round >> i & 1 ? -1 : 1;
            if (!list_end && depth < 0)
                list_end = row + i;
            if (!list_end && depth == 0 && row[i] == '}')
                events_end = row + i + 1;
        }
        memset(text + FAR, ' ', WORD);
        for (; depth < 1; depth++)
            text[later++] = '[';
        for (; depth > 0; depth--)
            text[later++] = '}';
        events_end = list_end ? events_end : text + later;
        for (unsigned way = 0; way < chrome_scan_ways(); way++) {
            struct chrome_cut cut = chrome_find_cut_by(way, text, text + LENGTH);
            CHECK(cut.list_end == list_end);
            CHECK(cut.events_end == events_end);
        }
    }
    nl_free(text);
}

CHECK_MAIN("chromescan", {"cuts are exact", cuts_are_exact}, {"falls are found", falls_are_found})
