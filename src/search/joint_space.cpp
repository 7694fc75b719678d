// SPDX-License-Identifier: Apache-2.0
// All programs of the sketches and all of the template. A candidate stays in the part that it came from: there it is
// mutated, and crossed with others of that part. Even values of Candidate::sketch are the sketches', odd ones the
// template's.
#include "search/spaces.h"

namespace tenon::search {
namespace {

// The template has far fewer programs; a small share of the draws sees them all.
constexpr double kTemplateShare = 0.2;

class JointSpace : public Space {
 public:
  JointSpace(std::unique_ptr<Space> sketches, std::unique_ptr<Space> knobs)
      : sketches_(std::move(sketches)), template_(std::move(knobs)) {}

  std::string_view name() const override { return "joint"; }
  size_t sketches() const override { return sketches_->sketches() + template_->sketches(); }

  std::vector<Candidate> first() const override {
    std::vector<Candidate> out;
    for (const int part : {kTemplate, kSketches}) {
      for (Candidate& c : of(part).first()) out.push_back(tagged(std::move(c), part).value());
    }
    return out;
  }

  Result<Candidate> sample(Rng& rng) const override {
    const bool knobs = template_->sketches() > 1 && rng.chance(kTemplateShare);
    const int part = knobs ? kTemplate : kSketches;
    return tagged(of(part).sample(rng), part);
  }

  Result<Candidate> mutate(const Candidate& c, Rng& rng) const override {
    const int part = part_of(c);
    return tagged(of(part).mutate(untagged(c), rng), part);
  }

  Result<Candidate> cross(const Candidate& a, const Candidate& b, Rng& rng) const override {
    const int part = part_of(a);
    if (part != part_of(b)) return Illegal{.code = IllegalCode::kBadVariant};
    return tagged(of(part).cross(untagged(a), untagged(b), rng), part);
  }

  Result<Candidate> adopt(const schedule::Trace& trace) const override {
    auto known = sketches_->adopt(trace);
    return known ? tagged(std::move(known), kSketches) : template_->adopt(trace);
  }

 private:
  static constexpr int kSketches = 0, kTemplate = 1;

  const Space& of(int part) const { return part == kTemplate ? *template_ : *sketches_; }

  // What neither part explains is changed as a trace, which the template's part does for any.
  static int part_of(const Candidate& c) {
    return c.sketch < 0 || c.sketch % 2 == 1 ? kTemplate : kSketches;
  }
  static Result<Candidate> tagged(Result<Candidate> c, int part) {
    if (!c || c->sketch < 0) return c;
    const bool fits = c->sketch <= (INT32_MAX - part) / 2;
    c.value().sketch = fits ? 2 * c->sketch + part : -1;
    return c;
  }
  static Candidate untagged(Candidate c) {
    if (c.sketch >= 0) c.sketch /= 2;
    return c;
  }

  std::unique_ptr<Space> sketches_, template_;
};

}  // namespace

std::unique_ptr<Space> make_joint_space(const task::Task& t) {
  auto sketches = make_sketch_space(t), knobs = make_template_space(t);
  if (sketches == nullptr) return knobs;
  if (knobs == nullptr) return sketches;
  return std::make_unique<JointSpace>(std::move(sketches), std::move(knobs));
}

}  // namespace tenon::search
