/* Buffers of one column. Texts that are not in the dictionary of names are written out. */
#include "export/arrowcolumn.h"

#define MAX_ROOM ((size_t)64 << 20)

/* ---- texts one after the other ---- */

static void start_texts(struct arrow_column *texts)
{
    bytes_clear(&texts->buffers[1]);
    bytes_clear(&texts->buffers[2]);
    bytes_u64(&texts->buffers[1], 0);
    texts->buffer_count = 3;
}

static void add_text(struct arrow_column *texts, struct nl_str text)
{
    bytes_utf8(&texts->buffers[2], text);
    bytes_u64(&texts->buffers[1], texts->buffers[2].len);
}

/* ---- the dictionary ---- */

static uint32_t add_entry(struct arrow_column *column, struct nl_str text)
{
    add_text(column->dictionary, text);
    return (uint32_t)column->entries++;
}

/* Entries in the order in which rows use them. False when ids are no names: filled patterns. */
static bool gather_names(struct arrow_column *column)
{
    const struct nl_trace *trace = column->view->export->trace;
    uint32_t names = trace->names.count;
    union nl_view_cell value;
    column->index = nl_zalloc((names + (size_t)1) * sizeof *column->index);
    for (uint32_t i = 0; i < column->view->row_count; i++) {
        if (!nl_view_value(column->view, column->column, i, &value))
            continue;
        if (value.name >= names)
            return false;
        if (!column->index[value.name])
            column->index[value.name] = add_entry(column, nl_trace_name(trace, value.name)) + 1;
    }
    return true;
}

static uint32_t word_entry(const struct arrow_column *column, const char *word)
{
    uint32_t i = 0;
    while (i < column->entries && column->words[i] != word)
        i++;
    return i;
}

static void gather_words(struct arrow_column *column)
{
    union nl_view_cell value;
    const char *last = NULL;
    for (uint32_t i = 0; i < column->view->row_count; i++) {
        if (!nl_view_value(column->view, column->column, i, &value) || value.text == last)
            continue;
        last = value.text;
        if (word_entry(column, value.text) < column->entries)
            continue;
        nl_grow(&column->words, &column->word_cap, column->entries + 1);
        column->words[column->entries] = value.text;
        (void)add_entry(column, nl_str(value.text));
    }
}

void arrow_column_open(struct arrow_column *column, const struct nl_table_view *view,
                       const struct nl_view_column *of)
{
    *column = (struct arrow_column){.view = view, .column = of};
    nl_buf_init(&column->room, MAX_ROOM);
    if (of->form != NL_FORM_NAME && of->form != NL_FORM_WORD)
        return;
    column->dictionary = nl_zalloc(sizeof *column->dictionary);
    nl_buf_init(&column->dictionary->room, 1);
    start_texts(column->dictionary);
    column->has_dictionary = true;
    if (of->form == NL_FORM_WORD)
        gather_words(column);
    else
        column->has_dictionary = gather_names(column);
}

void arrow_column_close(struct arrow_column *column)
{
    for (size_t i = 0; i < 3; i++)
        bytes_release(&column->buffers[i]);
    nl_buf_release(&column->room);
    if (column->dictionary)
        arrow_column_close(column->dictionary);
    nl_free(column->dictionary);
    nl_free(column->index);
    nl_free(column->words);
    *column = (struct arrow_column){0};
}

/* ---- a batch ---- */

static void put_number(struct bytes *out, enum nl_form form, const union nl_view_cell *value)
{
    switch (form) {
    case NL_FORM_U32: bytes_u32(out, (uint32_t)value->u64); break;
    case NL_FORM_U16: {
        uint16_t number = (uint16_t)value->u64;
        bytes_add(out, &number, sizeof number);
        break;
    }
    case NL_FORM_U8: bytes_u8(out, (uint8_t)value->u64); break;
    default: bytes_u64(out, value->u64); break; /* i64 and f64 are in the same 8 bytes */
    }
}

static void put_value(struct arrow_column *column, bool known, const union nl_view_cell *value)
{
    enum nl_form form = column->column->form;
    if (column->has_dictionary) {
        uint32_t entry = !known                 ? 0
                         : form == NL_FORM_NAME ? column->index[value->name] - 1
                                                : word_entry(column, value->text);
        bytes_u32(&column->buffers[1], entry);
    } else if (form == NL_FORM_NAME) {
        nl_buf_clear(&column->room);
        add_text(column,
                 known ? nl_trace_text(column->view->export->trace, value->name, &column->room)
                       : nl_str(""));
    } else if (arrow_is_text(form)) {
        add_text(column, known ? value->str : nl_str(""));
    } else {
        put_number(&column->buffers[1], form, value);
    }
}

void arrow_column_fill(struct arrow_column *column, uint32_t first, uint32_t rows)
{
    static const union nl_view_cell none = {0};
    struct bytes *valid = &column->buffers[0];
    size_t bits = (rows + 7u) / 8u;
    bytes_clear(valid);
    memset(bytes_room(valid, bits + 1), 0, bits);
    column->nulls = 0;
    column->buffer_count = 2;
    bytes_clear(&column->buffers[1]);
    if (arrow_is_text(column->column->form) && !column->has_dictionary)
        start_texts(column);
    for (uint32_t i = 0; i < rows; i++) {
        union nl_view_cell value = {0};
        bool known = nl_view_value(column->view, column->column, first + i, &value);
        if (known)
            valid->at[i / 8] = (unsigned char)(valid->at[i / 8] | 1u << i % 8);
        else
            column->nulls++;
        put_value(column, known, known ? &value : &none);
    }
    valid->len = column->nulls ? bits : 0; /* all are known: no bits are needed */
}
