/*
 * pprof: a gzip'd Profile message. Every kind of weight is a type of sample; a sample has a value
 * in its own kind and 0 in the others. Schema: github.com/google/pprof/proto/profile.proto
 */
#include "export/gzout.h"
#include "export/stackfold.h"

/* Fields of Profile. */
enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_TEXT = 6,
    PROFILE_DURATION = 10,
    PROFILE_DEFAULT = 14
};

struct writer {
    const struct nl_stackfold *fold;
    struct bytes out, one, packed;
    struct nl_dict texts; /* id 0 is "" there, too */
};

static uint64_t text_id(struct writer *writer, struct nl_str text)
{
    return nl_dict_add(&writer->texts, text);
}

static struct nl_str unit_word(struct nl_str unit)
{
    return nl_str_is(unit, "ns")        ? nl_str("nanoseconds")
           : nl_str_is(unit, "samples") ? nl_str("count")
                                        : unit;
}

static void put_types(struct writer *writer)
{
    for (size_t i = 0; i < writer->fold->count; i++) {
        bytes_clear(&writer->one);
        bytes_tag_varint(&writer->one, 1, text_id(writer, writer->fold->trees[i].event));
        bytes_tag_varint(&writer->one, 2, text_id(writer, unit_word(writer->fold->trees[i].unit)));
        bytes_tag_message(&writer->out, PROFILE_TYPE, &writer->one);
    }
}

static void put_samples(struct writer *writer, size_t number)
{
    const struct nl_stacktree *tree = &writer->fold->trees[number];
    for (uint32_t node = 1; node < tree->count; node++) {
        if (!tree->nodes[node].self)
            continue;
        bytes_clear(&writer->one);
        bytes_clear(&writer->packed);
        for (uint32_t at = node; at; at = tree->nodes[at].parent) /* innermost first */
            bytes_varint(&writer->packed, tree->nodes[at].frame + (uint64_t)1);
        bytes_tag_message(&writer->one, 1, &writer->packed);
        bytes_clear(&writer->packed);
        for (size_t i = 0; i < writer->fold->count; i++)
            bytes_varint(&writer->packed, i == number ? (uint64_t)tree->nodes[node].self : 0);
        bytes_tag_message(&writer->one, 2, &writer->packed);
        bytes_tag_message(&writer->out, PROFILE_SAMPLE, &writer->one);
    }
}

/* A location and a function per frame: neither addresses nor inlining are known. */
static void put_frame(struct writer *writer, uint32_t number)
{
    const struct nl_stackframe *frame = &writer->fold->frames[number];
    uint64_t id = (uint64_t)number + 1;
    bytes_clear(&writer->packed);
    bytes_tag_varint(&writer->packed, 1, id);
    if (frame->line)
        bytes_tag_varint(&writer->packed, 2, frame->line);
    bytes_clear(&writer->one);
    bytes_tag_varint(&writer->one, 1, id);
    bytes_tag_message(&writer->one, 4, &writer->packed);
    bytes_tag_message(&writer->out, PROFILE_LOCATION, &writer->one);
    bytes_clear(&writer->one);
    bytes_tag_varint(&writer->one, 1, id);
    bytes_tag_varint(&writer->one, 2, text_id(writer, frame->name));
    bytes_tag_varint(&writer->one, 3, text_id(writer, frame->name));
    if (frame->file.len)
        bytes_tag_varint(&writer->one, 4, text_id(writer, frame->file));
    bytes_tag_message(&writer->out, PROFILE_FUNCTION, &writer->one);
}

bool nl_export_pprof(struct nl_export *export, struct nl_err *err)
{
    struct nl_stackfold fold;
    struct writer writer = {.fold = &fold};
    nl_stackfold_make(&fold, export, true);
    if (!fold.count) {
        nl_stackfold_release(&fold);
        return nl_fail(err, NL_INCOMPARABLE, NL_NO_STACKS);
    }
    nl_dict_init(&writer.texts);
    put_types(&writer);
    for (size_t i = 0; i < fold.count; i++)
        put_samples(&writer, i);
    for (uint32_t i = 0; i < fold.frame_count; i++)
        put_frame(&writer, i);
    bytes_tag_varint(&writer.out, PROFILE_DURATION,
                     (uint64_t)(export->trace->last_ts - export->trace->first_ts));
    bytes_tag_varint(&writer.out, PROFILE_DEFAULT, text_id(&writer, fold.trees[0].event));
    for (uint32_t i = 0; i < writer.texts.count; i++)
        bytes_tag_text(&writer.out, PROFILE_TEXT, nl_dict_text(&writer.texts, i));
    nl_gzip_write(export->out, &writer.out);
    nl_dict_release(&writer.texts);
    nl_stackfold_release(&fold);
    bytes_release(&writer.out);
    bytes_release(&writer.one);
    bytes_release(&writer.packed);
    return nl_export_goes_on(export, err);
}
