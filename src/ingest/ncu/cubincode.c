/* cubincode — see cubincode.h. */
#include "ingest/ncu/cubincode.h"

#include <string.h>

#include "base/sort.h"

#define OPERATIONS    512
#define OLDEST_WIDE   70 /* compute capability from which instructions take 16 bytes */
#define MAX_STATEMENT 400

static const char *const names[OPERATIONS] = {
#define CUBIN_OPCODE(number, name) [number] = name,
#include "ingest/ncu/cubinopcodes.def"
};

void cubincode_init(struct cubincode *code)
{
    *code = (struct cubincode){0};
    nl_arena_init(&code->texts);
    cubinlines_init(&code->ptx);
    code->ptx.unfiled = true;
}

void cubincode_release(struct cubincode *code)
{
    for (size_t i = 0; i < code->program_count; i++)
        nl_free(code->programs[i].lines);
    nl_free(code->programs);
    nl_free(code->functions);
    nl_free(code->operations);
    gpurows_map_release(&code->known);
    cubinlines_release(&code->ptx);
    nl_arena_free(&code->texts);
    *code = (struct cubincode){0};
}

static uint64_t function_key(uint64_t id, struct nl_str function)
{
    return nl_hash(function.ptr, function.len) ^ id * 0x9E3779B97F4A7C15u;
}

struct program {
    struct cubincode *code;
    uint64_t id;
    uint32_t text;
};

/* Lines end with a zero byte; those of older programs with a line feed. */
static void take_ptx(struct program *program, struct nl_str content)
{
    struct cubincode *code = program->code;
    struct cubincode_text text = {0};
    struct nl_str kept = {nl_arena_text(&code->texts, content.ptr, content.len), content.len};
    for (size_t from = 0, at = 0; at < kept.len; at++) {
        if (kept.ptr[at] != '\0' && kept.ptr[at] != '\n')
            continue;
        nl_grow(&text.lines, &text.cap, text.count + 1);
        text.lines[text.count++] = (struct nl_str){kept.ptr + from, at - from};
        from = at + 1;
    }
    nl_grow(&code->programs, &code->program_cap, code->program_count + 1);
    program->text = (uint32_t)code->program_count;
    code->programs[code->program_count++] = text;
}

static void take_text_section(void *context, struct nl_str name, struct nl_str content)
{
    struct program *program = context;
    if (nl_str_is(name, ".nv_debug_ptx_txt") && content.len && program->text == UINT32_MAX)
        take_ptx(program, content);
}

/* One operation per 16 bytes. */
static void take_code(void *context, struct nl_str name, struct nl_str content)
{
    static const char prefix[] = ".text.";
    struct program *program = context;
    struct cubincode *code = program->code;
    size_t count = content.len / CUBINCODE_STEP;
    bool made = false;
    if (!nl_str_starts(name, prefix) || !count || count > MAX_CUBINCODE - code->operation_count)
        return;
    struct nl_str function = {name.ptr + sizeof prefix - 1, name.len - (sizeof prefix - 1)};
    (void)gpurows_map_put(&code->known, function_key(program->id, function), code->function_count,
                          &made);
    if (!made)
        return;
    nl_grow(&code->functions, &code->function_cap, code->function_count + 1);
    code->functions[code->function_count++] = (struct cubincode_function){
        .first = code->operation_count,
        .count = count,
        .text = program->text,
        .program = program->id,
        .name = {nl_arena_text(&code->texts, function.ptr, function.len), function.len}};
    nl_grow(&code->operations, &code->operation_cap, code->operation_count + count);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = (const unsigned char *)content.ptr + i * CUBINCODE_STEP;
        code->operations[code->operation_count++] =
            (uint16_t)((at[0] | at[1] << 8) & (OPERATIONS - 1));
    }
}

/* Of an ELF file for NVIDIA's GPUs; older ones, whose instructions take 8 bytes, are left out. */
static bool is_wide(const unsigned char *bytes, size_t len)
{
    return len >= 52 && bytes[18] == 190 && bytes[19] == 0 && bytes[48] >= OLDEST_WIDE;
}

void cubincode_add(struct cubincode *code, uint64_t id, const void *bytes, size_t len)
{
    struct program program = {.code = code, .id = id, .text = UINT32_MAX};
    if (!is_wide(bytes, len))
        return;
    cubinlines_sections(bytes, len, take_text_section, &program);
    cubinlines_sections(bytes, len, take_code, &program);
    if (program.text != UINT32_MAX)
        cubinlines_add_table(&code->ptx, id, bytes, len, ".nv_debug_line_sass");
}

const struct cubincode_function *cubincode_find(const struct cubincode *code, uint64_t id,
                                                struct nl_str function)
{
    const uint64_t *number = gpurows_map_find(&code->known, function_key(id, function));
    return number && *number < code->function_count ? &code->functions[*number] : NULL;
}

const char *cubincode_opcode(const struct cubincode *code,
                             const struct cubincode_function *function, uint64_t offset)
{
    uint64_t place = offset / CUBINCODE_STEP;
    return offset % CUBINCODE_STEP == 0 && place < function->count
               ? names[code->operations[function->first + place]]
               : NULL;
}

struct nl_str cubincode_ptx(const struct cubincode *code, const struct cubincode_function *function,
                            uint64_t offset, size_t *near)
{
    const struct cubinlines_function *lines =
        function->text != UINT32_MAX
            ? cubinlines_find(&code->ptx, function->program, function->name)
            : NULL;
    const struct cubinlines_row *row =
        lines ? cubinlines_at(&code->ptx, lines, offset, near) : NULL;
    if (!row || row->line > code->programs[function->text].count)
        return nl_str("");
    struct nl_str line = code->programs[function->text].lines[row->line - 1];
    while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
        line = (struct nl_str){line.ptr + 1, line.len - 1};
    while (line.len && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\r'))
        line.len--;
    if (line.len > MAX_STATEMENT)
        line.len = MAX_STATEMENT;
    return line;
}
