# SPDX-License-Identifier: Apache-2.0
"""What the card can do at most, measured: multiplications, copies, launches.

The two kernels of our own are PTX, which the driver compiles: no toolkit is needed.
"""
import ctypes

import torch

THREADS, BLOCKS_PER_SM = 512, 2
CHAINS, UNROLL, TURNS = 16, 8, 4096  # independent sums per thread, steps of each in the loop, turns of the loop
NODES = 200                          # empty kernels in a graph


def ptx():
    """`fma`: every thread adds to CHAINS sums, which are stored only if they are what they never are. `empty` does
    nothing."""
    sums = range(CHAINS)
    start = "\n".join(f"  mov.f32 %f{i}, 0f3F{i:02X}0000;" for i in sums)
    body = "\n".join(f"  fma.rn.f32 %f{i}, %f{i}, %f{CHAINS}, %f{CHAINS + 1};" for _ in range(UNROLL) for i in sums)
    total = "\n".join(f"  add.f32 %f0, %f0, %f{i};" for i in sums if i > 0)
    return f""".version 7.0
.target sm_80
.address_size 64
.visible .entry empty() {{ ret; }}
.visible .entry fma(.param .u64 where) {{
  .reg .f32 %f<{CHAINS + 2}>; .reg .b32 %r<2>; .reg .b64 %d<2>; .reg .pred %p<2>;
{start}
  mov.f32 %f{CHAINS}, 0f3F7F0000;
  mov.f32 %f{CHAINS + 1}, 0f3A83126F;
  mov.u32 %r0, {TURNS};
LOOP:
{body}
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra LOOP;
{total}
  setp.ne.f32 %p1, %f0, 0fC2280000;
  @%p1 bra DONE;
  ld.param.u64 %d0, [where];
  cvta.to.global.u64 %d1, %d0;
  st.global.f32 [%d1], %f0;
DONE:
  ret;
}}
"""


class Kernels:
    """The functions of a PTX text in the current context."""

    def __init__(self, text):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.module = ctypes.c_void_p()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(self.module), text.encode() + b"\0"))

    @staticmethod
    def check(status):
        if status != 0:
            raise RuntimeError(f"the CUDA driver answers {status}")

    def launcher(self, name, blocks, threads, address):
        """A function that launches NAME on the current stream, with one pointer as its argument."""
        function = ctypes.c_void_p()
        self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()))
        value = ctypes.c_uint64(address)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(value))

        def launch(_keep=value):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self.check(self.driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, None))
        return launch


def best_ms(call, repeat, rounds=5):
    """The least time of a call over ROUNDS of REPEAT each."""
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        start.record()
        for _ in range(repeat):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / repeat)
    return min(times)


def matmul_tflops(size=8192):
    a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    return 2 * size**3 / best_ms(lambda: torch.mm(a, b, out=out), 5) / 1e9


def copy_tb_per_s(count=1 << 28):
    """Bytes read and written."""
    a = torch.randn(count, device="cuda")
    b = torch.empty_like(a)
    return 2 * 4 * count / best_ms(lambda: b.copy_(a), 5) / 1e9


def fma_tflops(kernels):
    blocks = BLOCKS_PER_SM * torch.cuda.get_device_properties(0).multi_processor_count
    place = torch.zeros(1, device="cuda")
    launch = kernels.launcher("fma", blocks, THREADS, place.data_ptr())
    return 2 * blocks * THREADS * CHAINS * UNROLL * TURNS / best_ms(launch, 5) / 1e9


def launch_us(kernels, stream):
    """Per node of a graph of dependent empty kernels, as many blocks as the card has multiprocessors."""
    launch = kernels.launcher("empty", torch.cuda.get_device_properties(0).multi_processor_count, 128, 0)
    launch()
    stream.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded, stream=stream):
        for _ in range(NODES):
            launch()
    return 1e3 * best_ms(recorded.replay, 20) / NODES


def measure(stream):
    """Name -> value, or a sentence that says why there is none."""
    found = {}

    def attempt(name, what):
        try:
            found[name] = what()
        except Exception as error:
            found.setdefault("absent", {})[name] = f"{type(error).__name__}: {error}"
    attempt("matmul_tflops", matmul_tflops)
    attempt("copy_tb_per_s", copy_tb_per_s)
    attempt("fma_tflops", lambda: fma_tflops(Kernels(ptx())))
    attempt("launch_us", lambda: launch_us(Kernels(ptx()), stream))
    torch.cuda.empty_cache()
    return found
