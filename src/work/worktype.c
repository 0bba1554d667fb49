/* worktype — see worktype.h. One table; texts are compared without case. */
#include "work/worktype.h"

#include <strings.h>

static const struct {
    const char *name;
    unsigned bits;
} types[WORK_TYPES] = {
    [WORK_TYPE_UNKNOWN] = {NULL, 0},
    [WORK_FP64] = {"fp64", 64},
    [WORK_FP32] = {"fp32", 32},
    [WORK_FP16] = {"fp16", 16},
    [WORK_BF16] = {"bf16", 16},
    [WORK_FP8] = {"fp8", 8},
    [WORK_FP4] = {"fp4", 4},
    [WORK_FP4X2] = {"fp4", 8},
    [WORK_INT64] = {"int64", 64},
    [WORK_INT32] = {"int32", 32},
    [WORK_INT16] = {"int16", 16},
    [WORK_INT8] = {"int8", 8},
    [WORK_INT4] = {"int4", 4},
    [WORK_BOOL] = {"bool", 8},
    [WORK_COMPLEX64] = {"complex64", 64},
    [WORK_COMPLEX128] = {"complex128", 128},
    [WORK_TF32] = {"tf32", 32},
};

static const struct {
    const char *text;
    enum work_type type;
} texts[] = {
    {"float", WORK_FP32},
    {"double", WORK_FP64},
    {"c10::Half", WORK_FP16},
    {"c10::BFloat16", WORK_BF16},
    {"long int", WORK_INT64},
    {"long", WORK_INT64},
    {"int", WORK_INT32},
    {"short int", WORK_INT16},
    {"short", WORK_INT16},
    {"signed char", WORK_INT8},
    {"unsigned char", WORK_INT8},
    {"char", WORK_INT8},
    {"bool", WORK_BOOL},
    {"c10::Float8_e4m3fn", WORK_FP8},
    {"c10::Float8_e5m2", WORK_FP8},
    {"c10::Float8_e4m3fnuz", WORK_FP8},
    {"c10::Float8_e5m2fnuz", WORK_FP8},
    {"c10::Float8_e8m0fnu", WORK_FP8},
    {"c10::Float4_e2m1fn_x2", WORK_FP4X2},
    {"c10::quint4x2", WORK_INT8},
    {"c10::complex<float>", WORK_COMPLEX64},
    {"c10::complex<double>", WORK_COMPLEX128},
    {"c10::qint8", WORK_INT8},
    {"c10::quint8", WORK_INT8},
    {"c10::qint32", WORK_INT32},
    {"unsigned short", WORK_INT16},
    {"unsigned int", WORK_INT32},
    {"unsigned long", WORK_INT64},
    {"half", WORK_FP16},
    {"f64", WORK_FP64},
    {"f32", WORK_FP32},
    {"f16", WORK_FP16},
    {"bf16", WORK_BF16},
    {"s64", WORK_INT64},
    {"s32", WORK_INT32},
    {"s8", WORK_INT8},
    {"u8", WORK_INT8},
    {"pred", WORK_BOOL},
    {"float32", WORK_FP32},
    {"float64", WORK_FP64},
    {"float16", WORK_FP16},
    {"bfloat16", WORK_BF16},
    {"int64", WORK_INT64},
    {"int32", WORK_INT32},
    {"int16", WORK_INT16},
    {"int8", WORK_INT8},
    {"uint8", WORK_INT8},
    {"uint16", WORK_INT16},
    {"uint32", WORK_INT32},
    {"uint64", WORK_INT64},
    {"int4", WORK_INT4},
    {"fp8", WORK_FP8},
    {"fp4", WORK_FP4},
    {"fp16", WORK_FP16},
    {"fp32", WORK_FP32},
    {"fp64", WORK_FP64},
    {"tf32", WORK_TF32},
};

enum work_type work_type_of(struct nl_str text)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strlen(texts[i].text) == text.len &&
            strncasecmp(texts[i].text, text.ptr, text.len) == 0)
            return texts[i].type;
    if (nl_str_starts_nocase(text, "c10::float8") || nl_str_starts_nocase(text, "float8") ||
        nl_str_starts_nocase(text, "f8"))
        return WORK_FP8;
    return WORK_TYPE_UNKNOWN;
}

unsigned work_type_bits(enum work_type type)
{
    return types[type].bits;
}

const char *work_type_name(enum work_type type)
{
    return types[type].name;
}
