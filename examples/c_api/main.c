/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled model from C, with inputs of ones, and prints the first values of each output.
 * For a model that was compiled by `tenon compile net.onnx -o out`:
 *
 *   cc -std=c99 -Iout main.c out/libnet.so -Wl,-rpath,out -o main        the shared library
 *   cc -std=c99 -Iout main.c out/libnet.a -lm -lpthread -o out/main      the static one (--emit a,h)
 *   ./main [THREADS]
 */
#include <stdio.h>
#include <stdlib.h>

#include <net.h>

static void* allocate(size_t bytes) {
  void* memory = calloc(1, bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  return memory;
}

static void fill_with_ones(void* memory, const net_tensor* t) {
  float* values = memory;
  for (size_t i = 0; i < t->bytes / sizeof(float); ++i) {
    values[i] = 1.0f;
  }
}

static void print_tensor(const void* memory, const net_tensor* t) {
  const float* values = memory;
  printf("%s:", t->name);
  for (size_t i = 0; i < t->bytes / sizeof(float) && i < 5; ++i) {
    printf(" %.5f", (double)values[i]);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  const char* why = NULL;
  net_ctx* ctx = net_create(argc > 1 ? atoi(argv[1]) : 0, &why);
  if (ctx == NULL) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  const int32_t in_count = net_input_count();
  const int32_t out_count = net_output_count();
  void** inputs = allocate((size_t)in_count * sizeof(void*));
  void** outputs = allocate((size_t)out_count * sizeof(void*));
  for (int32_t i = 0; i < in_count; ++i) {
    inputs[i] = allocate(net_input(i)->bytes);
    fill_with_ones(inputs[i], net_input(i));
  }
  for (int32_t i = 0; i < out_count; ++i) {
    outputs[i] = allocate(net_output(i)->bytes);
  }

  const int status = net_run(ctx, (const void* const*)inputs, outputs);

  for (int32_t i = 0; i < out_count; ++i) {
    print_tensor(outputs[i], net_output(i));
    free(outputs[i]);
  }
  for (int32_t i = 0; i < in_count; ++i) {
    free(inputs[i]);
  }
  free(inputs);
  free(outputs);
  net_destroy(ctx);
  return status;
}
