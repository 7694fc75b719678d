// SPDX-License-Identifier: Apache-2.0
#include "artifact/program.h"

namespace tenon::artifact {

// Apart from what checks programs: who only loads an artifact takes no more than this.
int64_t TensorInfo::bytes() const {
  int64_t n = dtype.bytes();
  for (const int64_t extent : shape) {
    n *= extent;
  }
  return n;
}

}  // namespace tenon::artifact
