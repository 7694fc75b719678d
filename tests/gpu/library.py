# SPDX-License-Identifier: Apache-2.0
"""A library that tenon compiled for a GPU, and the driver under it, by ctypes alone: no package is needed.

    library = Library(folder)
    context, why = library.create()
    status = library.run(context, inputs, outputs)
"""
import array
import ctypes
import os
import random

DRIVER = "TENON_CUDA_LIBRARY"  # names another driver than libcuda.so.1
CODES = {"f32": "f", "f64": "d", "i64": "q", "i32": "i", "i8": "b", "u8": "B", "bool": "b"}


class TensorInfo(ctypes.Structure):
    """NAME_tensor of the header."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


class Options(ctypes.Structure):
    """NAME_options of the header; zeros are its defaults."""
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("weights_path", ctypes.c_char_p), ("weights", ctypes.c_void_p),
                ("weights_bytes", ctypes.c_size_t), ("runtime", ctypes.c_void_p), ("workspace", ctypes.c_void_p),
                ("trust_weights", ctypes.c_int32), ("device", ctypes.c_int32)]


def drawn(info, rng):
    """Bytes for an input: floats around zero, whole numbers that every table has a row for."""
    code = CODES[info.dtype.decode()]
    count = info.bytes // array.array(code).itemsize
    few = [rng.gauss(0, 1) if code in "fd" else rng.randrange(2 if info.dtype == b"bool" else 100)
           for _ in range(min(count, 4096))]
    values = array.array(code, few) * (count // max(len(few), 1) + 1)
    return ctypes.create_string_buffer(values[:count].tobytes(), max(info.bytes, 1))


class Library:
    def __init__(self, folder):
        path = next(folder.glob("lib*.so"))
        self.name = path.name[3:-3]
        self.loaded = ctypes.CDLL(str(path))
        self.inputs, self.outputs = self.tensors("input"), self.tensors("output")
        self.start = self.function("create_with", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p))
        self.destroy = self.function("destroy", None, ctypes.c_void_p)
        self.call = self.function("run", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.on_device = self.function("run_device", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                       ctypes.c_void_p)

    def function(self, name, result, *arguments):
        f = getattr(self.loaded, f"{self.name}_{name}")
        f.restype, f.argtypes = result, arguments
        return f

    def tensors(self, kind):
        count = self.function(f"{kind}_count", ctypes.c_int32)()
        get = self.function(kind, ctypes.POINTER(TensorInfo), ctypes.c_int32)
        return [get(i).contents for i in range(count)]

    def create(self, device=0):
        """(context, "") or (None, the sentence)"""
        why = ctypes.c_char_p()
        context = self.start(ctypes.byref(Options(size=ctypes.sizeof(Options), device=device)), ctypes.byref(why))
        return context, "" if context else (why.value or b"no sentence").decode()

    def error(self, status):
        return self.function("error", ctypes.c_char_p, ctypes.c_int)(status).decode()

    def buffers(self, seed):
        rng = random.Random(seed)
        return ([drawn(info, rng) for info in self.inputs],
                [ctypes.create_string_buffer(max(info.bytes, 1)) for info in self.outputs])

    def run(self, context, inputs, outputs):
        lists = [(ctypes.c_void_p * max(len(all_), 1))(*[ctypes.addressof(x) for x in all_])
                 for all_ in (inputs, outputs)]
        return self.call(context, *lists)


class Driver:
    """The few functions of the driver that a check calls itself; the first card's primary context is kept."""

    def __init__(self):
        self.loaded = ctypes.CDLL(os.environ.get(DRIVER) or "libcuda.so.1")
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self.must("cuInit", ctypes.c_uint(0))
        self.must("cuDeviceGet", ctypes.byref(self.device), ctypes.c_int(0))
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.must("cuCtxSetCurrent", context)

    def ask(self, name, *arguments):
        return getattr(self.loaded, name)(*arguments)

    def must(self, name, *arguments):
        status = self.ask(name, *arguments)
        if status != 0:
            raise RuntimeError(f"{name} answers {status}")

    def facts(self):
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self.must("cuDeviceGetName", name, ctypes.c_int(256), self.device)
        self.must("cuDriverGetVersion", ctypes.byref(version))
        return {"card": name.value.decode(), "driver": f"{version.value // 1000}.{version.value % 1000 // 10}",
                "memory_bytes": self.memory()[1]}

    def memory(self):
        """(free, all) bytes"""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def take(self, size):
        """An address, or None where there is no memory."""
        address = ctypes.c_uint64()
        return address.value if self.ask("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size)) == 0 else None

    def give(self, address):
        self.must("cuMemFree_v2", ctypes.c_uint64(address))

    def release(self):
        self.must("cuDevicePrimaryCtxRelease_v2", self.device)
