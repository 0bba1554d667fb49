/*
 * mutate — changes of an input that keep most of its form: numbers in text and in bytes become
 * odd ones (negative, infinite, far over what columns hold), names odd names; lines, ranges and
 * bits change. Half of what libFuzzer tries is made so; fixed.c makes all of its inputs so, for
 * it uses nothing of libFuzzer.
 */
#ifndef NL_FUZZ_MUTATE_H
#define NL_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set where libFuzzer does not run: its own mutations need that it does. */
extern bool mutate_alone;

/* Changes data of `size` bytes in place, which has room for `max_size`; its size then. The same
 * for the same data and seed. */
size_t mutate_form(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* libFuzzer's mutation, or mutate_form where that does not run. */
size_t mutate_any(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* What libFuzzer calls: of database.c for databases, else of mutated.c. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#endif
