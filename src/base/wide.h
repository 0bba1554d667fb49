/*
 * wide — NL_WIDE before a function with a plain loop over an array compiles it a second time for
 * processors with 256-bit vectors; which one runs is decided when the program starts. For loops
 * that look at every cell of a large column and do little with it: others gain nothing. For static
 * functions only: clang 14 gives other files no symbol of such a function.
 */
#ifndef NL_WIDE_H
#define NL_WIDE_H

#define NL_WIDE

/* Sanitizers instrument what would run before they are ready. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NL_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NL_SANITIZED
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(NL_SANITIZED) && defined(__has_attribute)
#if __has_attribute(target_clones)
#undef NL_WIDE
#define NL_WIDE __attribute__((target_clones("avx2", "default")))
#endif
#endif

#endif
