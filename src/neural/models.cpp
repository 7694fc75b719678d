// SPDX-License-Identifier: Apache-2.0
#include "neural/models.h"

#include "cost/models/tlp.h"
#include "cost/models/treegru.h"

namespace tenon::neural {

std::unique_ptr<cost::CostModel> make_model(const std::string& name, uint64_t seed,
                                            const CompileNetworks& how) {
  if (name == "treegru") return cost::make_treegru(seed, how.threads, compiled_tree_scorers(how));
  if (name == "tlp") return cost::make_tlp(seed, how.threads, compiled_rows_scorers(how));
  return cost::make_model(name, seed, how.threads);
}

std::unique_ptr<cost::CostModel> load_model(const std::string& bytes, uint64_t seed,
                                            const CompileNetworks& how) {
  auto plain = cost::load_model(bytes, seed, how.threads);
  const std::string name(plain->name());
  if (name != "treegru" && name != "tlp") return plain;
  auto model = make_model(name, seed, how);
  model->load(bytes);
  return model;
}

}  // namespace tenon::neural
