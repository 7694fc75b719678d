// SPDX-License-Identifier: Apache-2.0
#include "search/layout/layout_skeleton.h"

#include "search/space/spaces.h"

namespace tenon::search {
namespace {

using space::Builder;
using space::Domain;
using space::HoleKind;

space::HoleId hole_of(size_t factor) {
  return {HoleKind::kLayout, -1, static_cast<int32_t>(factor)};
}

// Asks for all factors and says which edges that means; nothing, and the program refused, if they do not fit.
std::optional<task::Task> ask_edges(Builder& b, const task::Task& t, const LayoutSpace& layouts) {
  const auto alike = [](const Domain& d) { return std::vector<double>(d.size(), 1); };
  const LayoutSpace::Point rule =
      layouts.seeds().empty() ? LayoutSpace::Point() : layouts.seeds().front();
  LayoutSpace::Point p;
  for (size_t f = 0; f < layouts.factors().size(); ++f) {
    const LayoutFactor& factor = layouts.factors()[f];
    p.push_back(b.ask(hole_of(f), factor.name, Domain::of(factor.choices),
                      rule.empty() ? factor.choices.back() : rule[f], alike));
  }
  auto edges = layouts.edges(p);
  if (!edges) {
    b.refuse(edges.illegal());
    return std::nullopt;
  }
  task::Task out = task::make_task(t.dag, std::move(edges.value()), t.target);
  b.set_edges(out.edges);
  return out;
}

std::vector<space::Choices> seeds_of(const LayoutSpace& layouts) {
  std::vector<space::Choices> out;
  for (const LayoutSpace::Point& p : layouts.seeds()) out.push_back(choices_of(p, layouts));
  return out;
}

class EdgeSkeleton : public space::Skeleton {
 public:
  EdgeSkeleton(const task::Task& t, const LayoutSpace& layouts) : task_(t), layouts_(layouts) {}

  void write(Builder& b) const override {
    const auto t = ask_edges(b, task_, layouts_);
    if (!t) return;
    for (const schedule::Step& s : task::edge_steps(*t)) b.add(s);
  }
  std::vector<space::Choices> seeds() const override { return seeds_of(layouts_); }

 private:
  const task::Task task_;
  const LayoutSpace& layouts_;
};

class OperatorSkeleton : public space::Skeleton {
 public:
  OperatorSkeleton(const task::Task& t, const LayoutSpace& layouts, std::string name)
      : task_(t), layouts_(layouts), name_(std::move(name)) {}

  void write(Builder& b) const override {
    const auto t = ask_edges(b, task_, layouts_);
    if (!t) return;
    const space::Space* loops = loops_of(*t);
    if (loops == nullptr) return b.refuse(Illegal{.code = IllegalCode::kBadLayout});
    loops->skeleton().write(b);
  }
  std::vector<space::Choices> seeds() const override { return seeds_of(layouts_); }

 private:
  // Made when first asked for; sketches of one layout serve all its programs.
  const space::Space* loops_of(const task::Task& t) const {
    const std::scoped_lock lock(lock_);
    auto [it, fresh] = loops_.try_emplace(t.key);
    if (fresh) it->second = make_space(name_, t);
    return it->second.get();
  }

  const task::Task task_;
  const LayoutSpace& layouts_;
  const std::string name_;
  mutable std::mutex lock_;
  mutable std::map<std::string, std::unique_ptr<space::Space>> loops_;  // by key of the task
};

}  // namespace

LayoutSpace::Point point_of(const space::Choices& choices, const LayoutSpace& layouts) {
  LayoutSpace::Point p;
  for (size_t f = 0; f < layouts.factors().size(); ++f) {
    const LayoutFactor& factor = layouts.factors()[f];
    p.push_back(factor.choices.front());
    for (const space::Choice& c : choices) {
      if (c.hole == hole_of(f)) p.back() = c.value;
    }
  }
  return p;
}

space::Choices choices_of(const LayoutSpace::Point& p, const LayoutSpace& layouts) {
  space::Choices out;
  for (size_t f = 0; f < p.size(); ++f) {
    if (layouts.factors()[f].choices.size() > 1) out.push_back({hole_of(f), p[f]});
  }
  return out;
}

std::unique_ptr<space::Space> make_edge_space(const task::Task& t, const LayoutSpace& layouts) {
  return std::make_unique<space::Space>(t, std::make_unique<EdgeSkeleton>(t, layouts));
}

std::unique_ptr<space::Space> make_operator_space(const task::Task& t, const LayoutSpace& layouts,
                                                  const std::string& name) {
  return std::make_unique<space::Space>(t, std::make_unique<OperatorSkeleton>(t, layouts, name));
}

}  // namespace tenon::search
