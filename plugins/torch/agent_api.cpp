// SPDX-License-Identifier: Apache-2.0
// The interface to the layout agent: no exception leaves it.
#include <limits>

#include "agent.h"
#include "search/strategy/layout_agent.h"

struct tenon_layout_agent {
  tenon::agent::Agent agent;
};

namespace {

tenon_layout_agent* create(uint32_t state_size, uint32_t actors, uint64_t seed) {
  try {
    return new tenon_layout_agent{tenon::agent::Agent(state_size, actors, seed)};
  } catch (...) {
    return nullptr;
  }
}

void destroy(tenon_layout_agent* a) { delete a; }

double act(tenon_layout_agent* a, uint32_t actor, const double* state) {
  try {
    return a->agent.act(actor, state);
  } catch (...) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

int64_t end(tenon_layout_agent* a) { return a->agent.end(); }

template <class F>
int32_t guarded(const F& f) {
  try {
    f();
    return 0;
  } catch (...) {
    return 1;
  }
}

int32_t reward(tenon_layout_agent* a, int64_t episode, double r) {
  return guarded([&] { a->agent.reward(episode, r); });
}
int32_t save(const tenon_layout_agent* a, const char* file) {
  return guarded([&] { a->agent.save(file); });
}
int32_t load(tenon_layout_agent* a, const char* file) {
  return guarded([&] { a->agent.load(file); });
}

constexpr tenon_layout_agent_functions kFunctions{
    TENON_LAYOUT_AGENT_VERSION, create, destroy, act, end, reward, save, load};

}  // namespace

__attribute__((visibility("default"))) const tenon_layout_agent_functions* tenon_layout_agent_api(
    void) {
  return &kFunctions;
}
