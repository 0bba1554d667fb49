/* Asks a profile inside the program: the answer as JSON, and SQL whose columns are used in place.
 *
 *     cc -O2 read.c -o read $(pkg-config --cflags --libs neurolens-engine)
 *     ./read run.nlt
 */
#include <neurolens-engine.h>
#include <stdio.h>

static int fail(struct nlens_error *error)
{
    fprintf(stderr, "read: %s\n", nlens_error_text(error));
    int status = nlens_error_status(error);
    nlens_error_free(error);
    return status;
}

/* The five names that took longest: text and number columns of the answer's only batch. */
static void show(const struct nlens_answer *answer)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    nlens_answer_stream(answer, &stream);
    stream.get_next(&stream, &batch);
    stream.release(&stream);
    if (!batch.release)
        return; /* no rows */
    const int64_t *ends = batch.children[0]->buffers[1];
    const char *names = batch.children[0]->buffers[2];
    const int64_t *total_ns = batch.children[1]->buffers[1];
    for (int64_t row = 0; row < batch.length; row++)
        printf("%12.3f ms  %.*s\n", (double)total_ns[row] / 1e6, (int)(ends[row + 1] - ends[row]),
               names + ends[row]);
    batch.release(&batch);
}

int main(int count, char **words)
{
    struct nlens_error *error = NULL;
    if (count != 2) {
        fprintf(stderr, "usage: read PROFILE\n");
        return 2;
    }
    const char *files[] = {words[1]};
    struct nlens_profile *profile = nlens_open(files, 1, NULL, &error);
    if (!profile)
        return fail(error);
    struct nlens_answer *answer = nlens_sql(profile,
                                            "SELECT name, sum(dur) FROM slices WHERE name IS NOT "
                                            "NULL GROUP BY name ORDER BY 2 DESC, 1 LIMIT 5",
                                            NULL, &error);
    char *report = answer ? nlens_report(profile, "info", NULL, "text", NULL, NULL, &error) : NULL;
    if (report) {
        fputs(report, stdout);
        show(answer);
    }
    nlens_free(report);
    nlens_answer_free(answer);
    nlens_close(profile);
    return report ? 0 : fail(error);
}
