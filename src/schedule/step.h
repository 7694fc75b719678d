// SPDX-License-Identifier: Apache-2.0
// A Step is one primitive with its arguments: a value. What the list of primitives implies (names, ids,
// dispatch) is written here once.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "schedule/primitives/bind.h"
#include "schedule/primitives/cache_read.h"
#include "schedule/primitives/cache_write.h"
#include "schedule/primitives/compute_at.h"
#include "schedule/primitives/compute_inline.h"
#include "schedule/primitives/compute_root.h"
#include "schedule/primitives/decompose_init.h"
#include "schedule/primitives/fuse.h"
#include "schedule/primitives/layout_fuse.h"
#include "schedule/primitives/layout_pad.h"
#include "schedule/primitives/layout_reorder.h"
#include "schedule/primitives/layout_split.h"
#include "schedule/primitives/layout_store_at.h"
#include "schedule/primitives/layout_unfold.h"
#include "schedule/primitives/parallel.h"
#include "schedule/primitives/pragma_unroll.h"
#include "schedule/primitives/prefetch.h"
#include "schedule/primitives/reorder.h"
#include "schedule/primitives/rfactor.h"
#include "schedule/primitives/split.h"
#include "schedule/primitives/storage_align.h"
#include "schedule/primitives/tensorize.h"
#include "schedule/primitives/unroll.h"
#include "schedule/primitives/variant.h"
#include "schedule/primitives/vectorize.h"

namespace tenon::schedule {

using Step = std::variant<
#define TENON_PRIMITIVE(name, Struct, id) Struct,
#include "schedule/primitives.def"
#undef TENON_PRIMITIVE
    std::monostate>;  // monostate is never stored; it ends the list

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
uint64_t hash(const Step& step);

}  // namespace tenon::schedule
