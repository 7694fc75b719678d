// SPDX-License-Identifier: Apache-2.0
// The C interface between tenon and a plug-in that trains the network of tree_network.h: a library
// that is loaded at run time exports tenon_tree_trainer_api. No C++ crosses it, no function throws.
// The same seed and lessons give the same weights.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_TREE_TRAINER_VERSION 1
#define TENON_TREE_TRAINER_SYMBOL "tenon_tree_trainer_api"

typedef struct tenon_tree_sizes {
  uint32_t columns;  // of a node
  uint32_t hidden;
  uint32_t slots;
} tenon_tree_sizes;

// Trees one after the other, a parent before its children.
typedef struct tenon_trees {
  uint64_t trees;
  const uint32_t* nodes;  // of each tree, at least one
  const float* values;    // of all nodes, row-major
  const int32_t* parent;  // of each node, counted in its tree; -1: a root
} tenon_trees;

typedef struct tenon_tree_lessons {
  tenon_trees trees;
  const float* labels;    // of each tree; more is better
  const uint32_t* tasks;  // of each tree; trees of different tasks are not compared
  uint64_t seed;
  uint32_t minibatches;  // at most
  // How good the scores of the trees `asked` are, by their numbers: training stops when that no
  // longer rises, and the best weights count.
  const uint64_t* asked;
  uint64_t asked_count;
  double (*quality)(void* context, const float* scores);
  void* context;
} tenon_tree_lessons;

typedef struct tenon_tree_trainer_functions {
  uint32_t version;
  // Both return 0, or another number if they failed. Weights are in the order of tree_network.h;
  // training begins with those given and replaces them.
  int32_t (*train)(const tenon_tree_sizes* sizes, const tenon_tree_lessons* lessons,
                   float* weights);
  int32_t (*score)(const tenon_tree_sizes* sizes, const tenon_trees* trees, const float* weights,
                   float* scores);
} tenon_tree_trainer_functions;

const tenon_tree_trainer_functions* tenon_tree_trainer_api(void);

#ifdef __cplusplus
}
#endif
