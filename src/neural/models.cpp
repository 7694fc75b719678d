// SPDX-License-Identifier: Apache-2.0
#include "neural/models.h"

#include "cost/models/treegru.h"

namespace tenon::neural {

std::unique_ptr<cost::CostModel> make_model(const std::string& name, uint64_t seed,
                                            const CompileNetworks& how) {
  auto plain = cost::make_model(name, seed, how.threads);
  if (name != "treegru") return plain;
  return cost::make_treegru(seed, how.threads, compiled_tree_scorers(how));
}

std::unique_ptr<cost::CostModel> load_model(const std::string& bytes, uint64_t seed,
                                            const CompileNetworks& how) {
  auto plain = cost::load_model(bytes, seed, how.threads);
  if (plain->name() != "treegru") return plain;
  auto model = make_model("treegru", seed, how);
  model->load(bytes);
  return model;
}

}  // namespace tenon::neural
