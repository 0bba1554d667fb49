/* template — see template.h: read from libyaml's tree of the document,
 * whose nodes know their lines. */
#include "pages/template.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/file.h"
#include "base/mem.h"
#include "pages/markup.h"
#include "sql/db.h"

#define MAX_FILE     ((size_t)1 << 20)
#define MAX_LOGO     ((size_t)256 << 10)
#define SECTION_NAME "section_"

/* What can be left out: the parts of a page (web/src/pages.ts), whose tables go with them. */
static const char *const parts[] = {"findings", "time",     "steps",   "idle",
                                    "timeline", "flame",    "kernels", "roofline",
                                    "memory",   "counters", "tables",  "coverage"};
#define PARTS (sizeof parts / sizeof *parts)

struct reader {
    struct nl_template *template;
    yaml_document_t document;
    struct nl_err *err;
};

static bool refuse_node(struct reader *r, const yaml_node_t *node, const char *why)
{
    return nl_fail(r->err, NL_USAGE, "line %zu, column %zu: %s", node->start_mark.line + 1,
                   node->start_mark.column + 1, why);
}

static const char *scalar(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static bool take_text(struct reader *r, const yaml_node_t *node, const char **text)
{
    if (node->type != YAML_SCALAR_NODE || !node->data.scalar.length)
        return refuse_node(r, node, "expected a text");
    if (strlen(scalar(node)) != node->data.scalar.length)
        return refuse_node(r, node, "expected a text without NUL");
    *text = nl_arena_text(&r->template->arena, scalar(node), node->data.scalar.length);
    return true;
}

static bool take_draw(struct reader *r, const yaml_node_t *node, bool *bars)
{
    *bars = !strcmp(scalar(node), "bars");
    return *bars || !strcmp(scalar(node), "table") ||
           refuse_node(r, node, "expected table or bars");
}

static bool take_hide(struct reader *r, const yaml_node_t *node)
{
    for (size_t i = 0; i < PARTS; i++)
        if (!strcmp(scalar(node), parts[i])) {
            if (r->template->hide_count < NL_TEMPLATE_HIDES)
                r->template->hide[r->template->hide_count++] = parts[i];
            return true;
        }
    const char *list = parts[0];
    for (size_t i = 1; i < PARTS; i++)
        list = nl_arena_format(&r->template->arena, "%s%s%s", list, i + 1 < PARTS ? ", " : " or ",
                               parts[i]);
    return refuse_node(r, node, nl_arena_format(&r->template->arena, "expected %s", list));
}

static bool take_rows(struct reader *r, const yaml_node_t *node, size_t *rows)
{
    char *end;
    long number = strtol(scalar(node), &end, 10);
    if (*end || number < 1 || number > 10000)
        return refuse_node(r, node, "expected a number of rows from 1 to 10000");
    *rows = (size_t)number;
    return true;
}

static bool take_analysis(struct reader *r, const yaml_node_t *node,
                          struct nl_template_section *section)
{
    section->line = node->start_mark.line + 1;
    section->analysis = nl_analysis_find(scalar(node));
    return section->analysis ||
           refuse_node(r, node, "no analysis of that name; `neurolens help sections` lists them");
}

static bool take_member(struct reader *r, struct nl_template_section *section,
                        const yaml_node_t *key, const yaml_node_t *value)
{
    const char *name = scalar(key);
    if (!strcmp(name, "title"))
        return take_text(r, value, &section->title);
    if (!strcmp(name, "text"))
        return take_text(r, value, &section->text);
    if (!strcmp(name, "draw"))
        return take_draw(r, value, &section->bars);
    if (!strcmp(name, "rows"))
        return take_rows(r, value, &section->rows);
    if (!strcmp(name, "analysis"))
        return take_analysis(r, value, section);
    if (strcmp(name, "sql") != 0)
        return refuse_node(r, key, "expected title, text, draw, sql, analysis or rows");
    section->line = value->start_mark.line + 1;
    return take_text(r, value, &section->sql);
}

static bool take_section(struct reader *r, const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE)
        return refuse_node(r, node, "expected title: and sql: or analysis:");
    if (r->template->section_count == NL_TEMPLATE_SECTIONS)
        return refuse_node(r, node, "expected at most 32 sections");
    struct nl_template_section *section = &r->template->sections[r->template->section_count];
    *section = (struct nl_template_section){0};
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++)
        if (!take_member(r, section, yaml_document_get_node(&r->document, pair->key),
                         yaml_document_get_node(&r->document, pair->value)))
            return false;
    if (!section->title || (!section->sql && !section->analysis))
        return refuse_node(r, node, "expected title: and sql: or analysis: in this section");
    if (section->sql && section->analysis)
        return refuse_node(r, node, "expected sql: or analysis: in this section, not both");
    if (section->sql && section->rows)
        return refuse_node(r, node, "rows: is for analysis:; SQL has LIMIT");
    r->template->section_count++;
    return true;
}

static bool take_list(struct reader *r, const yaml_node_t *node,
                      bool (*take)(struct reader *r, const yaml_node_t *node))
{
    if (node->type != YAML_SEQUENCE_NODE)
        return refuse_node(r, node, "expected a list");
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++)
        if (!take(r, yaml_document_get_node(&r->document, *item)))
            return false;
    return true;
}

static bool take_top(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    const char *name = scalar(key);
    if (!strcmp(name, "title"))
        return take_text(r, value, &r->template->title);
    if (!strcmp(name, "front"))
        return take_text(r, value, &r->template->front);
    if (!strcmp(name, "logo"))
        return take_text(r, value, &r->template->logo);
    if (!strcmp(name, "sections"))
        return take_list(r, value, take_section);
    if (!strcmp(name, "hide"))
        return take_list(r, value, take_hide);
    return refuse_node(r, key, "expected title, logo, front, sections or hide");
}

static bool read_document(struct reader *r)
{
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (!root)
        return nl_fail(r->err, NL_USAGE, "line 1, column 1: expected title:, sections: or others");
    if (root->type != YAML_MAPPING_NODE)
        return refuse_node(r, root, "expected title, logo, front, sections or hide");
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++)
        if (!take_top(r, yaml_document_get_node(&r->document, pair->key),
                      yaml_document_get_node(&r->document, pair->value)))
            return false;
    return true;
}

bool nl_template_read(struct nl_template *template, const char *text, size_t size,
                      struct nl_err *err)
{
    struct reader r = {.template = template, .err = err};
    yaml_parser_t parser;
    *template = (struct nl_template){0};
    nl_arena_init(&template->arena);
    if (size > MAX_FILE)
        return nl_fail(err, NL_LIMIT, "a template has at most 1 MiB");
    if (!yaml_parser_initialize(&parser))
        return nl_fail(err, NL_MEMORY, "no memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    bool done = yaml_parser_load(&parser, &r.document);
    if (done) {
        done = read_document(&r);
        yaml_document_delete(&r.document);
    } else {
        (void)nl_fail(err, NL_USAGE, "line %zu, column %zu: %s", parser.problem_mark.line + 1,
                      parser.problem_mark.column + 1, parser.problem ? parser.problem : "no YAML");
    }
    yaml_parser_delete(&parser);
    return done;
}

/* ---- files ---- */

static const char *type_of(const char *path)
{
    static const struct {
        const char *ending, *type;
    } types[] = {{".svg", "image/svg+xml"}, {".png", "image/png"}, {".jpg", "image/jpeg"},
                 {".jpeg", "image/jpeg"},   {".gif", "image/gif"}, {".webp", "image/webp"}};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t end = strlen(types[i].ending);
        if (len > end && !strcmp(path + len - end, types[i].ending))
            return types[i].type;
    }
    return NULL;
}

/* The picture as a data: address. Browsers run no scripts in pictures, so an SVG is safe, too. */
static bool read_logo(struct nl_template *template, struct nl_err *err)
{
    const char *slash = strrchr(template->path, '/');
    int folder = template->logo[0] != '/' && slash ? (int)(slash - template->path) + 1 : 0;
    const char *path =
        nl_arena_format(&template->arena, "%.*s%s", folder, template->path, template->logo);
    const char *type = type_of(path);
    struct nl_map map;
    struct nl_buf data;
    if (!type)
        return nl_fail(err, NL_USAGE, "logo: '%s' ends in none of .svg, .png, .jpg, .gif, .webp",
                       template->logo);
    if (!nl_map_open(&map, path, err))
        return false;
    if (map.size > MAX_LOGO) {
        nl_map_close(&map);
        return nl_fail(err, NL_LIMIT, "logo: '%s' has more than 256 KiB", template->logo);
    }
    nl_buf_init(&data, MAX_LOGO * 2);
    nl_buf_format(&data, "data:%s;base64,", type);
    nl_markup_base64(&data, map.bytes, map.size);
    template->logo = nl_arena_text(&template->arena, data.ptr, data.len);
    nl_buf_release(&data);
    nl_map_close(&map);
    return true;
}

bool nl_template_open(struct nl_template *template, const char *path, struct nl_err *err)
{
    struct nl_map map;
    *template = (struct nl_template){0};
    nl_arena_init(&template->arena);
    if (!nl_map_open(&map, path, err))
        return false;
    nl_err_at(err, path, -1);
    bool done = nl_template_read(template, map.size ? (const char *)map.bytes : "", map.size, err);
    nl_map_close(&map);
    template->path = path;
    if (done && template->logo)
        done = read_logo(template, err);
    if (done)
        nl_err_at(err, "", -1);
    return done;
}

void nl_template_release(struct nl_template *template)
{
    nl_arena_free(&template->arena);
}

/* ---- answers ---- */

static struct nl_result *run_section(const struct nl_template_section *section,
                                     const struct nl_template_asked *asked, struct nl_err *err)
{
    if (section->sql)
        return nl_db_query(asked->db, section->sql, err);
    struct nl_analyze_options options = *asked->options;
    options.limit = section->rows;
    return nl_analysis_run(section->analysis, asked->trace, &options, asked->job, err);
}

static struct nl_result *ask(const struct nl_template *template, size_t index,
                             const struct nl_template_asked *asked, struct nl_err *err)
{
    const struct nl_template_section *section = &template->sections[index];
    struct nl_err wrong = {0};
    struct nl_result *result = run_section(section, asked, &wrong);
    if (!result) {
        (void)nl_fail(err, wrong.text[0] ? wrong.code : NL_QUERY, "%s: line %zu: %s of '%s': %s",
                      template->path, section->line, section->sql ? "the SQL" : "the analysis",
                      section->title, wrong.text[0] ? wrong.text : "it gives no table");
        return NULL;
    }
    result->name = nl_arena_format(&result->arena, SECTION_NAME "%zu", index + 1);
    result->title = nl_arena_text(&result->arena, section->title, strlen(section->title));
    return result;
}

bool nl_template_answer(const struct nl_template *template, struct nl_report *report,
                        const struct nl_template_asked *asked, struct nl_err *err)
{
    size_t count = report->result_count;
    struct nl_result **results =
        nl_arena_alloc(&report->arena, (count + template->section_count + 1) * sizeof *results);
    if (count)
        memcpy(results, report->results, count * sizeof *results);
    report->results = results;
    for (size_t i = 0; i < template->section_count; i++) {
        struct nl_result *result = ask(template, i, asked, err);
        if (!result)
            return false;
        results[report->result_count++] = result;
    }
    return true;
}

const struct nl_template_section *nl_template_section(const struct nl_template *template,
                                                      const struct nl_result *result)
{
    size_t prefix = strlen(SECTION_NAME);
    if (!template || strncmp(result->name, SECTION_NAME, prefix) != 0)
        return NULL;
    unsigned long number = strtoul(result->name + prefix, NULL, 10);
    return number && number <= template->section_count ? &template->sections[number - 1] : NULL;
}

bool nl_template_hides(const struct nl_template *template, const char *name)
{
    for (size_t i = 0; template && i < template->hide_count; i++)
        if (!strcmp(template->hide[i], name))
            return true;
    return false;
}
