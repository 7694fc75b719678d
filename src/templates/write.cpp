// SPDX-License-Identifier: Apache-2.0
#include "templates/write.h"

#include <algorithm>

namespace tenon::templates {

void store_fixed_inputs(space::Builder& b, const Request& request,
                        const std::vector<std::string>& done) {
  for (const te::Input& in : b.dag().inputs) {
    const std::string& name = in.tensor.name();
    const auto it = request.fixed.find(name);
    if (it == request.fixed.end()) continue;
    if (std::find(done.begin(), done.end(), name) == done.end()) b.store(b.stage(name), it->second);
  }
}

space::StageRef made(const space::Builder& b, std::string_view name) {
  return b.refused() ? space::StageRef{} : b.stage(name);
}

}  // namespace tenon::templates
