// SPDX-License-Identifier: Apache-2.0
// The C interface between tenon and a plug-in with a layout agent: a library that is loaded at run time exports
// tenon_layout_agent_api. No C++ crosses it, no function throws.
//
// An episode is one layout: act() once for each of its factors, then end(); its reward comes later, in any order.
// Agents learn by themselves when enough rewards came. The same seed and calls give the same actions.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_LAYOUT_AGENT_VERSION 1
#define TENON_LAYOUT_AGENT_SYMBOL "tenon_layout_agent_api"

typedef struct tenon_layout_agent tenon_layout_agent;

typedef struct tenon_layout_agent_functions {
  uint32_t version;
  // Every state has `state_size` numbers; there are `actors` policies. Null if that failed.
  tenon_layout_agent* (*create)(uint32_t state_size, uint32_t actors, uint64_t seed);
  void (*destroy)(tenon_layout_agent* agent);
  // An action between 0 and 1, the next step of the episode under way; not a number if it failed.
  double (*act)(tenon_layout_agent* agent, uint32_t actor, const double* state);
  // Ends the episode under way and gives it a number.
  int64_t (*end)(tenon_layout_agent* agent);
  // What an episode was worth; higher is better. 0: done.
  int32_t (*reward)(tenon_layout_agent* agent, int64_t episode, double reward);
  // All weights to and from a file; 0: done. A file of other sizes is refused.
  int32_t (*save)(const tenon_layout_agent* agent, const char* file);
  int32_t (*load)(tenon_layout_agent* agent, const char* file);
} tenon_layout_agent_functions;

const tenon_layout_agent_functions* tenon_layout_agent_api(void);

#ifdef __cplusplus
}
#endif
