/* public — marks the functions of neurolens-engine.h: all others are hidden. */
#ifndef NL_PUBLIC_H
#define NL_PUBLIC_H

#define NL_PUBLIC __attribute__((visibility("default")))

#endif
