/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model that was compiled for a GPU from C, with inputs of ones: once with memory of the host, once with
 * memory of the card. For a model that was compiled by `tenon compile net.onnx --target "cuda sm_90" -o out`:
 *
 *   cc -std=c99 -Iout -I/usr/local/cuda/include main.c out/libnet.so -Wl,-rpath,out -lcuda -o main
 *   ./main [CARD]
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <net.h>

#define MAX_TENSORS 16

static void check(int ok, const char* what) {
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    exit(1);
  }
}

static float* make_values(size_t bytes, float value) {
  float* values = malloc(bytes > 0 ? bytes : 1);
  check(values != NULL, "no memory");
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    values[i] = value;
  }
  return values;
}

static void print_tensor(const float* values, const net_tensor* t) {
  printf("%s:", t->name);
  for (size_t i = 0; i < t->bytes / sizeof(float) && i < 5; ++i) {
    printf(" %.5f", (double)values[i]);
  }
  printf("\n");
}

/* Inputs go to the card and outputs come back by the caller's own copies; a program that has its data on the card
 * already needs neither. The default stream does one after the other. */
static void run_on_card(net_ctx* ctx, float* const* inputs, float* const* expected) {
  uint64_t in[MAX_TENSORS] = {0};
  uint64_t out[MAX_TENSORS] = {0};
  for (int32_t i = 0; i < net_input_count(); ++i) {
    CUdeviceptr data = 0;
    check(cuMemAlloc(&data, net_input(i)->bytes) == CUDA_SUCCESS, "no memory on the card");
    check(cuMemcpyHtoD(data, inputs[i], net_input(i)->bytes) == CUDA_SUCCESS, "a copy failed");
    in[i] = data;
  }
  for (int32_t i = 0; i < net_output_count(); ++i) {
    CUdeviceptr data = 0;
    check(cuMemAlloc(&data, net_output(i)->bytes) == CUDA_SUCCESS, "no memory on the card");
    out[i] = data;
  }

  const int status = net_run_device(ctx, in, out, NULL); /* returns at once */
  check(status == 0, net_error(status));

  for (int32_t i = 0; i < net_output_count(); ++i) {
    float* got = make_values(net_output(i)->bytes, 0);
    check(cuMemcpyDtoH(got, out[i], net_output(i)->bytes) == CUDA_SUCCESS, "the run failed");
    check(memcmp(got, expected[i], net_output(i)->bytes) == 0, "another answer on the card");
    free(got);
    cuMemFree(out[i]);
  }
  for (int32_t i = 0; i < net_input_count(); ++i) {
    cuMemFree(in[i]);
  }
  printf("the same on memory of the card\n");
}

int main(int argc, char** argv) {
  const char* why = NULL;
  net_options options = {.size = sizeof options};
  options.device = argc > 1 ? atoi(argv[1]) : 0;
  net_ctx* ctx = net_create_with(&options, &why);
  check(ctx != NULL, why);
  check(net_input_count() <= MAX_TENSORS && net_output_count() <= MAX_TENSORS, "too many tensors");
  float* inputs[MAX_TENSORS];
  float* outputs[MAX_TENSORS];
  for (int32_t i = 0; i < net_input_count(); ++i) {
    inputs[i] = make_values(net_input(i)->bytes, 1);
  }
  for (int32_t i = 0; i < net_output_count(); ++i) {
    outputs[i] = make_values(net_output(i)->bytes, 0);
  }

  const int status = net_run(ctx, (const void* const*)inputs, (void* const*)outputs);
  check(status == 0, net_error(status));
  for (int32_t i = 0; i < net_output_count(); ++i) {
    print_tensor(outputs[i], net_output(i));
  }

  /* The caller's own calls of CUDA need a current context: the one that the library uses too. */
  CUdevice device = 0;
  CUcontext context = NULL;
  check(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, net_device(ctx)) == CUDA_SUCCESS &&
            cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
            cuCtxSetCurrent(context) == CUDA_SUCCESS,
        "the card cannot be used");
  run_on_card(ctx, inputs, outputs);
  cuDevicePrimaryCtxRelease(device);

  for (int32_t i = 0; i < net_input_count(); ++i) {
    free(inputs[i]);
  }
  for (int32_t i = 0; i < net_output_count(); ++i) {
    free(outputs[i]);
  }
  net_destroy(ctx);
  return 0;
}
