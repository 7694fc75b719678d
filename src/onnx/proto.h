// SPDX-License-Identifier: Apache-2.0
// The messages of an ONNX file. Included by this module's sources only, never by a header of its face.
#pragma once

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>

namespace tenon::onnx::proto {

using namespace ::onnx;  // NOLINT(google-build-using-namespace): the one place that names it

}  // namespace tenon::onnx::proto
