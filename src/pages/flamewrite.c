/* flamewrite — a flame as a JSON object for pages, as folded lines, and as an SVG picture.
 * Each walks the nodes depth first, heaviest child first, and without recursion: how deep
 * stacks are is up to the input. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "pages/flame.h"
#include "pages/markup.h"
#include "pages/pagepart.h"
#include "view/celltext.h"
#include "view/palette.h"
#include "view/plot.h"

#define MAX_SHOWN 10000
#define MIN_PART  4000

/* ---- JSON ---- */

struct shown {
    uint32_t *order;  /* nodes, depth first */
    uint32_t *places; /* per node its place in `order`; NL_NULL_ROW = left out */
    uint32_t count;
    uint32_t left_out;
};

static int by_weight(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* The weight below which nodes are left out. */
static int64_t threshold(const struct nl_flame *flame)
{
    int64_t least = nl_flame_weight(&flame->nodes[0]) / MIN_PART;
    if (flame->count <= MAX_SHOWN)
        return least;
    int64_t *weights = nl_alloc(flame->count * sizeof *weights);
    for (uint32_t id = 0; id < flame->count; id++)
        weights[id] = nl_flame_weight(&flame->nodes[id]);
    if (flame->count)
        qsort(weights, flame->count, sizeof *weights, by_weight);
    int64_t bound = weights[MAX_SHOWN - 1] + 1;
    nl_free(weights);
    return bound > least ? bound : least;
}

static struct shown choose_nodes(const struct nl_flame *flame)
{
    struct shown shown = {.order = nl_alloc(flame->count * sizeof(uint32_t)),
                          .places = nl_alloc(flame->count * sizeof(uint32_t))};
    uint32_t *first, *next, at = 0;
    int64_t least = threshold(flame);
    nl_flame_order(flame, &first, &next);
    for (uint32_t id = 0; id < flame->count; id++)
        shown.places[id] = NL_NULL_ROW;
    for (bool down = true;;) {
        bool take = down && (at == 0 || (nl_flame_weight(&flame->nodes[at]) >= least &&
                                         nl_flame_weight(&flame->nodes[at]) > 0));
        if (take) {
            shown.places[at] = shown.count;
            shown.order[shown.count++] = at;
        }
        if (take && first[at]) {
            at = first[at];
        } else if (at && next[at]) {
            at = next[at];
            down = true;
        } else if (!at) {
            break;
        } else {
            at = flame->nodes[at].parent;
            down = false;
            if (!at)
                break;
        }
    }
    shown.left_out = flame->count - shown.count;
    nl_free(first);
    nl_free(next);
    return shown;
}

enum member { MEMBER_PARENT, MEMBER_TOTAL, MEMBER_SELF, MEMBER_BASE, MEMBER_KIND };

static void put_member(struct nl_json *json, const char *key, const struct nl_flame *flame,
                       const struct shown *shown, enum member member)
{
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < shown->count; i++) {
        const struct nl_flame_node *node = &flame->nodes[shown->order[i]];
        switch (member) {
        case MEMBER_PARENT: nl_json_u64(json, i ? shown->places[node->parent] : 0); break;
        case MEMBER_TOTAL: nl_json_i64(json, node->total); break;
        case MEMBER_SELF: nl_json_i64(json, node->self); break;
        case MEMBER_BASE: nl_json_i64(json, node->base_total); break;
        case MEMBER_KIND:
            nl_json_u64(json, node->class ? NL_PAGE_CLASS + node->class : node->kind);
            break;
        }
    }
    nl_json_close(json, ']');
}

/* The names of the nodes shown, and per node the number of its name among them. */
static void put_frame_names(struct nl_json *json, const struct nl_flame *flame,
                            const struct shown *shown)
{
    uint32_t *numbers = nl_zalloc(((size_t)flame->names.count + 1) * sizeof *numbers), count = 0;
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 16);
    nl_json_key(json, "names");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < shown->count; i++) {
        uint32_t name = flame->nodes[shown->order[i]].name;
        if (!numbers[name]) {
            numbers[name] = ++count;
            nl_buf_clear(&text);
            nl_flame_text(&text, flame, shown->order[i]);
            nl_json_str(json, i ? (struct nl_str){text.ptr, text.len} : nl_str("all"));
        }
    }
    nl_json_close(json, ']');
    nl_json_key(json, "nodes");
    nl_json_open(json, '{');
    nl_json_key(json, "name");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < shown->count; i++)
        nl_json_u64(json, numbers[flame->nodes[shown->order[i]].name] - 1);
    nl_json_close(json, ']');
    nl_buf_release(&text);
    nl_free(numbers);
}

void nl_flame_json(struct nl_json *json, const struct nl_flame *flame)
{
    struct shown shown = choose_nodes(flame);
    nl_json_open(json, '{');
    nl_json_put_text(json, "name", flame->source->name);
    nl_json_put_text(json, "title", flame->source->title);
    nl_json_put_text(json, "meaning", nl_page_meaning(flame->meaning));
    nl_json_put_i64(json, "total", flame->nodes[0].total, true);
    nl_json_put_u64(json, "left_out", shown.left_out, true);
    put_frame_names(json, flame, &shown);
    put_member(json, "parent", flame, &shown, MEMBER_PARENT);
    put_member(json, "total", flame, &shown, MEMBER_TOTAL);
    put_member(json, "self", flame, &shown, MEMBER_SELF);
    put_member(json, "kind", flame, &shown, MEMBER_KIND);
    if (flame->compares)
        put_member(json, "base", flame, &shown, MEMBER_BASE);
    nl_json_close(json, '}');
    nl_json_close(json, '}');
    nl_free(shown.order);
    nl_free(shown.places);
}

/* ---- folded ---- */

/* A frame's name without the two characters that mean something in this format. */
static void put_frame(FILE *out, const struct nl_flame *flame, uint32_t node)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 16);
    nl_flame_text(&text, flame, node);
    for (size_t i = 0; i < text.len; i++)
        putc(text.ptr[i] == ';' ? ',' : text.ptr[i], out);
    nl_buf_release(&text);
}

void nl_flame_folded(FILE *out, const struct nl_flame *flame)
{
    uint32_t *path = NULL;
    size_t cap = 0;
    for (uint32_t id = 1; id < flame->count; id++) {
        const struct nl_flame_node *node = &flame->nodes[id];
        size_t depth = 0;
        if (!node->self && !node->base_self)
            continue;
        for (uint32_t at = id; at; at = flame->nodes[at].parent) {
            nl_grow(&path, &cap, depth + 1);
            path[depth++] = at;
        }
        while (depth--) {
            put_frame(out, flame, path[depth]);
            if (depth)
                putc(';', out);
        }
        if (flame->compares)
            fprintf(out, " %" PRId64, node->base_self);
        fprintf(out, " %" PRId64 "\n", node->self);
    }
    nl_free(path);
}

/* ---- SVG ---- */

/* Sizes are in the picture's own units, which are pixels when it is not scaled. */
#define SVG_WIDTH 1200
#define SVG_ROW   18
#define SVG_HEAD  30
#define MIN_SVG   0.4 /* narrower boxes are not drawn */
#define SVG_CHAR  6.2 /* width of a character */
#define SVG_PAD   3   /* from the edge of a box to its text */
#define SVG_BASE  13  /* from the top of a box to the base line of its text */
#define SVG_DEPTH 200 /* levels */

static enum nl_ink ink_of(const struct nl_flame_node *node)
{
    switch (node->class) {
    case NL_CLASS_COMPUTE: return NL_INK_compute;
    case NL_CLASS_COMMUNICATION: return NL_INK_comm;
    case NL_CLASS_COPY: return NL_INK_copy;
    case NL_CLASS_MEMSET: return NL_INK_memset;
    default: break;
    }
    switch (node->kind) {
    case NL_KIND_OP: return NL_INK_host;
    case NL_KIND_LAYER: return NL_INK_warm;
    case NL_KIND_NVTX: return NL_INK_good;
    case NL_KIND_API: return NL_INK_copy;
    default: return NL_INK_host;
    }
}

static void put_box(FILE *out, const struct nl_flame *flame, uint32_t node, double x, double width,
                    size_t depth)
{
    struct nl_buf name, text;
    const struct nl_flame_node *at = &flame->nodes[node];
    double share = (double)at->total / (double)(flame->nodes[0].total ? flame->nodes[0].total : 1);
    char percent[NL_UNIT_TEXT];
    nl_buf_init(&name, (size_t)1 << 16);
    nl_buf_init(&text, (size_t)1 << 17);
    if (node)
        nl_flame_text(&name, flame, node);
    else
        nl_buf_text(&name, "all");
    fprintf(out, "<g><title>");
    nl_markup_html(out, (struct nl_str){name.ptr, name.len});
    nl_buf_text(&text, " · ");
    nl_plot_number(&text, (double)at->total, flame->meaning, &(struct nl_plot_style){0});
    nl_buf_format(&text, " · %s", nl_format_percent(percent, share));
    nl_markup_html(out, (struct nl_str){text.ptr, text.len});
    fprintf(
        out,
        "</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" class=\"i-%s\" rx=\"1\"/>",
        x, SVG_HEAD + depth * SVG_ROW, width > 1 ? width - 0.5 : width, SVG_ROW - 1,
        node ? nl_inks[ink_of(at)].name : "idle");
    size_t fits = width > 3 * SVG_CHAR ? (size_t)((width - 2 * SVG_PAD) / SVG_CHAR) : 0;
    if (fits >= 3) {
        nl_buf_clear(&text);
        nl_celltext_elide(&text, (struct nl_str){name.ptr, name.len}, fits);
        fprintf(out, "<text x=\"%.2f\" y=\"%zu\">", x + SVG_PAD,
                SVG_HEAD + depth * SVG_ROW + SVG_BASE);
        nl_markup_html(out, (struct nl_str){text.ptr, text.len});
        fprintf(out, "</text>");
    }
    fprintf(out, "</g>\n");
    nl_buf_release(&name);
    nl_buf_release(&text);
}

static void put_svg_style(FILE *out)
{
    fputs("<style>text{font:11px monospace;fill:#fff;pointer-events:none}.h{font:14px sans-serif;"
          "fill:#1b2028}.bg{fill:#fff}",
          out);
    for (int i = 1; i < NL_INK_COUNT; i++)
        fprintf(out, ".i-%s{fill:%s}", nl_inks[i].name, nl_inks[i].light);
    fputs("</style>\n", out);
}

/* Deepest level that is wide enough to be drawn. */
static size_t levels_of(const struct nl_flame *flame, double scale)
{
    size_t most = 0;
    uint16_t *depth = nl_zalloc(flame->count * sizeof *depth);
    for (uint32_t id = 1; id < flame->count; id++) {
        unsigned below = depth[flame->nodes[id].parent] + 1u;
        depth[id] = (uint16_t)(below < SVG_DEPTH ? below : SVG_DEPTH);
        if ((double)flame->nodes[id].total * scale >= MIN_SVG && depth[id] > most)
            most = depth[id];
    }
    nl_free(depth);
    return most;
}

void nl_flame_svg(FILE *out, const struct nl_flame *flame, const char *heading)
{
    uint32_t *first, *next, at = 0;
    double left[SVG_DEPTH + 1] = {0}; /* where the next box of a level begins */
    size_t depth = 0;
    int64_t total = flame->nodes[0].total;
    double scale = total > 0 ? SVG_WIDTH / (double)total : 0;
    size_t height = SVG_HEAD + (levels_of(flame, scale) + 1) * SVG_ROW + 6;
    nl_flame_order(flame, &first, &next);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" "
            "height=\"%zu\">\n",
            SVG_WIDTH, height, SVG_WIDTH, height);
    put_svg_style(out);
    fprintf(
        out,
        "<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/><text class=\"h\" x=\"4\" y=\"19\">");
    nl_markup_html(out, nl_str(heading));
    fprintf(out, "</text>\n");
    for (;;) {
        double width = (double)flame->nodes[at].total * scale;
        bool wide = width >= MIN_SVG && depth < SVG_DEPTH;
        if (wide)
            put_box(out, flame, at, left[depth], width, depth);
        if (wide && first[at]) {
            left[depth + 1] = left[depth];
            at = first[at];
            depth++;
            continue;
        }
        left[depth] += width;
        while (at && !next[at]) {
            at = flame->nodes[at].parent;
            left[--depth] += (double)flame->nodes[at].total * scale;
        }
        if (!at)
            break;
        at = next[at];
    }
    fprintf(out, "</svg>\n");
    nl_free(first);
    nl_free(next);
}
