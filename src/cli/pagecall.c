/* What report and flame share: see pagecall.h. */
#include "cli/pagecall.h"

#include <string.h>

enum nl_page_ending nl_page_ending_of(const char *path)
{
    static const struct {
        const char *text;
        enum nl_page_ending ending;
    } endings[] = {{".html", NL_ENDING_HTML}, {".htm", NL_ENDING_HTML},
                   {".md", NL_ENDING_MD},     {".json", NL_ENDING_JSON},
                   {".svg", NL_ENDING_SVG},   {".folded", NL_ENDING_FOLDED},
                   {".txt", NL_ENDING_FOLDED}};
    size_t len = path ? strlen(path) : 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i].text);
        if (len > end && !strcmp(path + len - end, endings[i].text))
            return endings[i].ending;
    }
    return NL_ENDING_OTHER;
}

bool nl_page_call(struct nl_call *call, nl_page_writer *write, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_output output;
    struct nl_trace *trace = NULL;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err) &&
                nl_output_open(&output, call, input.paths, input.count, err);
    if (done) {
        trace = nl_input_load(&input, call, err);
        done = trace && write(call, &input, trace, &output, err);
        done = nl_output_close(&output, call, done, err);
    }
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    return done;
}
