// SPDX-License-Identifier: Apache-2.0
// A Step is one primitive with its arguments: a value. What the list of primitives implies (names, ids,
// dispatch) is written here once.
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "schedule/all_primitives.h"  // generated: one #include per row of primitives.def

namespace tenon::schedule {

using AnyPrimitive = std::variant<
#define TENON_PRIMITIVE(name, Struct, id) Struct,
#include "schedule/primitives.def"
#undef TENON_PRIMITIVE
    std::monostate>;  // monostate is never stored; it ends the list

// std::visit, std::get and their like take a Step as they take its variant. Copies, moves and ends are compiled once, in
// step.cpp, since a compiler needs seconds for those of so many alternatives.
class Step : public AnyPrimitive {
 public:
  using AnyPrimitive::AnyPrimitive;
  Step();
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();
};

struct PrimitiveRow {
  std::string_view name;
  int id;          // permanent
  Step (*make)();  // with default arguments
};
std::span<const PrimitiveRow> primitives();
const PrimitiveRow& row_of(const Step& step);
const PrimitiveRow* find_primitive(std::string_view name);

Result<void> check(const Step& step, const State& s);
// check() without inferring bounds. For whoever infers them once the program is complete: a box that cannot be told is
// found then.
Result<void> check_quickly(const Step& step, const State& s);
void apply(const Step& step, State& s);  // check() has passed
bool operator==(const Step& a, const Step& b);
// The same primitive on the same stages and loops, with as many numbers.
bool same_but_numbers(const Step& a, const Step& b);
// The numbers of a step in the order of its fields; stages, loops and words are none.
std::vector<int64_t> numbers_of(const Step& step);
uint64_t hash(const Step& step);

}  // namespace tenon::schedule
