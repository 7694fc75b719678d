/* SPDX-License-Identifier: Apache-2.0
 * A kernel of the target `cuda simt`: a function of this machine that is called once for each thread of each block. The
 * backend `nvptx` makes them, and libtenon_simt.so calls them.
 *
 *   extern "C" void NAME(void** arguments, const tenon_simt_thread* t);
 *   extern "C" const tenon_simt_kernel NAME_simt;
 */
#pragma once

#include <stdint.h>

struct tenon_simt_thread {
  int32_t thread[3];
  int32_t block[3];
  char* shared;                /* of the block; aligned to 16 bytes */
  void (*barrier)(void* self); /* returns when all threads of the block have called it */
  /* what the thread whose number is this one's xor `apart` holds, once all of its `threads` neighbours have called it */
  uint32_t (*exchange)(void* self, uint32_t value, int32_t apart, int32_t threads);
  void* self;
};

struct tenon_simt_kernel {
  int32_t arguments;    /* how many pointers it takes */
  int32_t has_barriers; /* or exchanges */
};

#define TENON_SIMT_KERNEL_SUFFIX "_simt"

typedef void (*tenon_simt_function)(void** arguments, const struct tenon_simt_thread* t);
