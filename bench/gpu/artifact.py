# SPDX-License-Identifier: Apache-2.0
"""A library that tenon compiled for a GPU, called on tensors of PyTorch through its C interface."""
import ctypes

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32,
          "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}


class TensorInfo(ctypes.Structure):
    """NAME_tensor of the header."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]

    def extents(self):
        return [self.shape[i] for i in range(self.rank)]


class Artifact:
    """A context of libNAME.so in FOLDER with its outputs; call() runs it once on INPUTS, by name, and STREAM."""

    def __init__(self, folder, name, inputs, stream):
        self.name = name
        self.library = ctypes.CDLL(str(folder / f"lib{name}.so"))
        create = self.function("create", ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_char_p))
        why = ctypes.c_char_p()
        self.context = create(0, ctypes.byref(why))
        if not self.context:
            raise RuntimeError(f"no context: {(why.value or b'no reason given').decode()}")
        self.inputs = [self.checked(info, inputs[info.name.decode()]) for info in self.tensors("input")]
        self.outputs = [torch.empty(info.extents(), dtype=DTYPES[info.dtype.decode()], device="cuda")
                        for info in self.tensors("output")]
        self.run = self.function("run_device", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                 ctypes.c_void_p)
        self.addresses = [(ctypes.c_uint64 * len(list_))(*[tensor.data_ptr() for tensor in list_])
                          for list_ in (self.inputs, self.outputs)]
        self.arguments = (self.context, *[ctypes.addressof(a) for a in self.addresses], stream.cuda_stream)

    def function(self, name, result, *arguments):
        f = getattr(self.library, f"{self.name}_{name}")
        f.restype, f.argtypes = result, arguments
        return f

    def tensors(self, kind):
        count = self.function(f"{kind}_count", ctypes.c_int32)()
        get = self.function(kind, ctypes.POINTER(TensorInfo), ctypes.c_int32)
        return [get(i).contents for i in range(count)]

    @staticmethod
    def checked(info, tensor):
        if info.bytes != tensor.numel() * tensor.element_size() or not tensor.is_contiguous():
            raise RuntimeError(f"input {info.name.decode()} is {info.dtype.decode()} {info.extents()},"
                               f" not {tensor.dtype} {list(tensor.shape)}")
        return tensor

    def call(self):
        status = self.run(*self.arguments)
        if status != 0:
            raise RuntimeError(self.sentence(status))

    def sentence(self, status):
        words = self.function("error", ctypes.c_char_p, ctypes.c_int)(status) or b""
        driver = self.function("driver_error", ctypes.c_char_p, ctypes.c_void_p)(self.context) or b""
        return f"run_device answers {status}: {words.decode()} {driver.decode()}".strip()

    def close(self):
        self.function("destroy", None, ctypes.c_void_p)(self.context)
