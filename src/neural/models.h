// SPDX-License-Identifier: Apache-2.0
// Cost models as module cost has them, with networks that tenon compiles.
//
//   auto m = make_model("treegru", seed, {.cache = "", .threads = 2});
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cost/model.h"
#include "neural/compiled.h"

namespace tenon::neural {

// As cost::make_model and cost::load_model.
std::unique_ptr<cost::CostModel> make_model(const std::string& name, uint64_t seed,
                                            const CompileNetworks& how);
std::unique_ptr<cost::CostModel> load_model(const std::string& bytes, uint64_t seed,
                                            const CompileNetworks& how);

}  // namespace tenon::neural
