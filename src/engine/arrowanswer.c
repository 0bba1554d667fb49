/*
 * What is handed out points into the answer, which lives until the stream and every array that was
 * taken from it are released: each of them holds it once (also columns, which a consumer may take
 * out of their array and release by themselves).
 */
#include "engine/arrowanswer.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/arrowcells.h"
#include "engine/public.h"
#include "view/view.h"
#include "view/jsonview.h"

#define MAX_BUFFERS 3

struct column {
    char *name;
    enum nl_meaning meaning;
    struct arrow_cells cells;
};

struct nlens_answer {
    struct column *columns;
    size_t count;
    uint64_t rows, budget;
    atomic_uint holders;
};

static void drop_columns(struct nlens_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        nl_free(answer->columns[i].name);
        arrow_cells_release(&answer->columns[i].cells);
    }
    nl_free(answer->columns);
    answer->columns = NULL;
    answer->count = 0;
    answer->rows = 0;
}

struct nlens_answer *nl_arrowanswer_new(uint64_t budget)
{
    struct nlens_answer *answer = nl_zalloc(sizeof *answer);
    answer->budget = budget;
    atomic_init(&answer->holders, 1);
    return answer;
}

NL_PUBLIC void nlens_answer_free(struct nlens_answer *answer)
{
    if (!answer || atomic_fetch_sub(&answer->holders, 1) > 1)
        return;
    drop_columns(answer);
    nl_free(answer);
}

NL_PUBLIC int64_t nlens_answer_rows(const struct nlens_answer *answer)
{
    return (int64_t)answer->rows;
}

static struct nlens_answer *hold(struct nlens_answer *answer)
{
    atomic_fetch_add(&answer->holders, 1);
    return answer;
}

/* ---- rows in ---- */

static void begin_answer(void *context, const struct nl_result_column *columns, size_t count)
{
    struct nlens_answer *answer = context;
    drop_columns(answer);
    answer->columns = nl_zalloc(count * sizeof *answer->columns);
    answer->count = count;
    for (size_t i = 0; i < count; i++) {
        answer->columns[i].name = nl_strdup(columns[i].name);
        answer->columns[i].meaning = columns[i].meaning;
    }
}

static bool is_too_large(const struct nlens_answer *answer)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < answer->count; i++)
        bytes += arrow_cells_bytes(&answer->columns[i].cells);
    return answer->budget && bytes > answer->budget;
}

static enum nl_db_row add_arrow_row(void *context, const struct nl_cell *cells)
{
    struct nlens_answer *answer = context;
    if (is_too_large(answer))
        return NL_DB_TOO_LARGE;
    for (size_t i = 0; i < answer->count; i++)
        arrow_cells_add(&answer->columns[i].cells, cells[i]);
    answer->rows++;
    return NL_DB_MORE;
}

struct nl_db_sink nl_arrowanswer_sink(struct nlens_answer *answer)
{
    return (struct nl_db_sink){.context = answer, .begin = begin_answer, .row = add_arrow_row};
}

/* ---- the schema out ---- */

static const char *const formats[] = {
    [ARROW_NULL] = "n", [ARROW_INT64] = "l", [ARROW_FLOAT64] = "g", [ARROW_TEXT] = "U"};

/* The unit holds for numbers of the kind that the column's meaning promises. */
static const char *unit_of(const struct column *column)
{
    enum arrow_kind promised = column->meaning == NL_MEANS_SHARE ? ARROW_FLOAT64 : ARROW_INT64;
    bool kept = column->cells.kind == ARROW_NULL || column->cells.kind == promised;
    return kept ? nl_view_unit(column->meaning) : NULL;
}

/* Arrow's form: the number of pairs, then length and bytes of key and value, in
 * the machine's byte order. */
static char *make_metadata(const char *key, const char *value)
{
    int32_t lengths[] = {1, (int32_t)strlen(key), (int32_t)strlen(value)};
    char *metadata = nl_alloc(sizeof lengths + strlen(key) + strlen(value)), *to = metadata;
    memcpy(to, &lengths[0], sizeof lengths[0]);
    memcpy(to += sizeof lengths[0], &lengths[1], sizeof lengths[1]);
    memcpy(to += sizeof lengths[1], key, strlen(key));
    memcpy(to += strlen(key), &lengths[2], sizeof lengths[2]);
    memcpy(to + sizeof lengths[2], value, strlen(value));
    return metadata;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        nl_free(schema->children[i]);
    }
    nl_free(schema->children);
    nl_free((char *)schema->name);
    nl_free((char *)schema->metadata);
    schema->release = NULL;
}

static void make_field(struct ArrowSchema *schema, const struct column *column)
{
    const char *unit = unit_of(column);
    *schema = (struct ArrowSchema){.format = formats[column->cells.kind],
                                   .name = nl_strdup(column->name),
                                   .metadata = unit ? make_metadata("unit", unit) : NULL,
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .release = release_schema};
}

struct stream {
    struct nlens_answer *answer;
    bool given; /* its rows */
};

static int get_schema(struct ArrowArrayStream *from, struct ArrowSchema *schema)
{
    const struct stream *stream = from->private_data;
    const struct nlens_answer *answer = stream->answer;
    *schema = (struct ArrowSchema){.format = "+s",
                                   .name = nl_strdup(""),
                                   .n_children = (int64_t)answer->count,
                                   .release = release_schema};
    schema->children = nl_alloc(answer->count * sizeof *schema->children);
    for (size_t i = 0; i < answer->count; i++) {
        schema->children[i] = nl_alloc(sizeof *schema->children[i]);
        make_field(schema->children[i], &answer->columns[i]);
    }
    return 0;
}

/* ---- the rows out ---- */

struct given {
    struct nlens_answer *answer;
    const void *buffers[MAX_BUFFERS];
};

static void release_array(struct ArrowArray *array)
{
    struct given *given = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
        nl_free(array->children[i]);
    }
    nl_free(array->children);
    nlens_answer_free(given->answer);
    nl_free(given);
    array->release = NULL;
}

static struct given *start_array(struct ArrowArray *array, struct nlens_answer *answer)
{
    struct given *given = nl_zalloc(sizeof *given);
    given->answer = hold(answer);
    *array = (struct ArrowArray){.length = (int64_t)answer->rows,
                                 .buffers = given->buffers,
                                 .release = release_array,
                                 .private_data = given};
    return given;
}

static void give_column(struct ArrowArray *array, struct nlens_answer *answer,
                        const struct arrow_cells *cells)
{
    struct given *given = start_array(array, answer);
    array->null_count = (int64_t)cells->nulls;
    if (cells->kind == ARROW_NULL)
        return;
    given->buffers[0] = cells->nulls ? cells->known : NULL;
    given->buffers[1] = cells->values;
    given->buffers[2] = cells->texts;
    array->n_buffers = cells->kind == ARROW_TEXT ? 3 : 2;
}

static int get_next(struct ArrowArrayStream *from, struct ArrowArray *array)
{
    struct stream *stream = from->private_data;
    struct nlens_answer *answer = stream->answer;
    *array = (struct ArrowArray){0};
    if (stream->given || !answer->rows)
        return 0;
    stream->given = true;
    (void)start_array(array, answer);
    array->n_buffers = 1; /* rows are never unknown as a whole */
    array->n_children = (int64_t)answer->count;
    array->children = nl_alloc(answer->count * sizeof *array->children);
    for (size_t i = 0; i < answer->count; i++) {
        array->children[i] = nl_alloc(sizeof *array->children[i]);
        give_column(array->children[i], answer, &answer->columns[i].cells);
    }
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL; /* nothing fails any more once there is a stream */
}

static void release_stream(struct ArrowArrayStream *from)
{
    struct stream *stream = from->private_data;
    nlens_answer_free(stream->answer);
    nl_free(stream);
    from->release = NULL;
}

NL_PUBLIC void nlens_answer_stream(const struct nlens_answer *answer,
                                   struct ArrowArrayStream *stream)
{
    struct stream *made = nl_zalloc(sizeof *made);
    made->answer = hold((struct nlens_answer *)answer); /* only its count of holders changes */
    *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                        .get_next = get_next,
                                        .get_last_error = get_last_error,
                                        .release = release_stream,
                                        .private_data = made};
}
