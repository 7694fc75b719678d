/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a compiled model from several threads: one context for each, all on one pool of threads.
 * For a model that was compiled by `tenon compile net.onnx -o out`:
 *
 *   cc -std=c99 -Iout main.c out/libnet.so -Wl,-rpath,out -lpthread -o main
 *   ./main [CONTEXTS [RUNS]]
 *
 * Prints how many runs gave the same answer as the first one.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net.h>

typedef struct server {
  pthread_t thread;
  net_ctx* ctx;
  void** inputs;
  void** outputs;
  int runs;
  int equal; /* runs that gave the first answer again */
} server;

static void* allocate(size_t bytes) {
  void* memory = calloc(1, bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  return memory;
}

static void allocate_tensors(server* s) {
  s->inputs = allocate((size_t)net_input_count() * sizeof(void*));
  s->outputs = allocate((size_t)net_output_count() * sizeof(void*));
  for (int32_t i = 0; i < net_input_count(); ++i) {
    s->inputs[i] = allocate(net_input(i)->bytes);
  }
  for (int32_t i = 0; i < net_output_count(); ++i) {
    s->outputs[i] = allocate(net_output(i)->bytes);
  }
}

static void free_tensors(server* s) {
  for (int32_t i = 0; i < net_input_count(); ++i) {
    free(s->inputs[i]);
  }
  for (int32_t i = 0; i < net_output_count(); ++i) {
    free(s->outputs[i]);
  }
  free(s->inputs);
  free(s->outputs);
}

static void* serve(void* argument) {
  server* s = argument;
  const size_t bytes = net_output_count() > 0 ? net_output(0)->bytes : 0;
  void* first = allocate(bytes);
  for (int run = 0; run < s->runs; ++run) {
    if (net_run(s->ctx, (const void* const*)s->inputs, s->outputs) != 0) {
      break;
    }
    if (run == 0 && bytes > 0) {
      memcpy(first, s->outputs[0], bytes);
    }
    s->equal += bytes == 0 || memcmp(first, s->outputs[0], bytes) == 0;
  }
  free(first);
  return NULL;
}

int main(int argc, char** argv) {
  const int contexts = argc > 1 ? atoi(argv[1]) : 2;
  const int runs = argc > 2 ? atoi(argv[2]) : 100;
  const char* why = NULL;
  const tenon_runtime* pool = net_runtime_create(0, &why);
  net_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.runtime = pool;
  server* servers = allocate((size_t)contexts * sizeof(server));
  int equal = 0;
  for (int i = 0; i < contexts; ++i) {
    servers[i].runs = runs;
    servers[i].ctx = pool != NULL ? net_create_with(&options, &why) : NULL;
    if (servers[i].ctx == NULL) {
      fprintf(stderr, "%s\n", why);
      return 1;
    }
    allocate_tensors(&servers[i]);
    if (pthread_create(&servers[i].thread, NULL, serve, &servers[i]) != 0) {
      fprintf(stderr, "no thread\n");
      return 1;
    }
  }
  for (int i = 0; i < contexts; ++i) {
    pthread_join(servers[i].thread, NULL);
    equal += servers[i].equal;
    net_destroy(servers[i].ctx);
    free_tensors(&servers[i]);
  }
  printf("%d contexts on %d threads: %d of %d runs are equal\n", contexts, (int)pool->threads,
         equal, contexts * runs);
  net_runtime_destroy(pool);
  free(servers);
  return equal == contexts * runs ? 0 : 1;
}
