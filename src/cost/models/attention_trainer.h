// SPDX-License-Identifier: Apache-2.0
// The C interface between tenon and a plug-in that trains the network of attention_network.h: a
// library that is loaded at run time exports tenon_attention_trainer_api. No C++ crosses it, no
// function throws. The same seed, lessons and number of threads give the same weights.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_ATTENTION_TRAINER_VERSION 1
#define TENON_ATTENTION_TRAINER_SYMBOL "tenon_attention_trainer_api"

typedef struct tenon_attention_sizes {
  uint32_t columns;  // of a row
  uint32_t width;    // even, a multiple of heads
  uint32_t heads;
  uint32_t outputs;  // scores of a set, one for each machine
} tenon_attention_sizes;

typedef struct tenon_row_sets {
  uint64_t sets;
  const uint32_t* rows;  // of each set, at least one
  const float* values;   // of all rows, row-major, set after set
} tenon_row_sets;

enum {
  TENON_LOSS_RANK = 1,   // LambdaRank over the sets of one task and batch, added up
  TENON_LOSS_VALUE = 2,  // |score - log(y)| * y with y = max(label, 1 / 64), the mean over a batch
};

typedef struct tenon_attention_lessons {
  tenon_row_sets sets;
  // sets x outputs: best time / time, in [0, 1]; 0: a failure; negative: not known on that machine.
  // Sets without any label may be asked for.
  const float* labels;
  const uint32_t* tasks;  // of each set; sets of different tasks are not compared
  uint32_t loss;
  uint64_t seed;
  uint32_t epochs;
  uint32_t batch;  // sets; a batch has few tasks and many sets of each
  uint32_t threads;
  float learning_rate;  // at the beginning; 0: the trainer's own
  // How good the scores of the sets `asked` are, which go by their numbers (asked_count x outputs,
  // row-major). It is asked after each epoch, and the best weights count; null: the last ones do.
  const uint64_t* asked;
  uint64_t asked_count;
  double (*quality)(void* context, const float* scores);
  void* context;
} tenon_attention_lessons;

typedef struct tenon_attention_trainer_functions {
  uint32_t version;
  // All return 0, or another number if they failed. Weights are in the order of
  // attention_network.h; training begins with those given and replaces them.
  int32_t (*train)(const tenon_attention_sizes* sizes, const tenon_attention_lessons* lessons,
                   float* weights);
  // sets x outputs
  int32_t (*score)(const tenon_attention_sizes* sizes, const tenon_row_sets* sets,
                   const float* weights, float* scores);
  // The loss of all lessons as one batch, and its gradient by each weight.
  int32_t (*loss)(const tenon_attention_sizes* sizes, const tenon_attention_lessons* lessons,
                  const float* weights, double* loss, float* gradient);
} tenon_attention_trainer_functions;

const tenon_attention_trainer_functions* tenon_attention_trainer_api(void);

#ifdef __cplusplus
}
#endif
