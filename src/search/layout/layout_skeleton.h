// SPDX-License-Identifier: Apache-2.0
// The layouts of an operator's edges as holes. Alone they are a space of layouts, whose programs store the edges and no
// more; in front of the loops of a task they are the first decisions of the whole chain.
//
//   h_t = 56, w_t = 56, o_t = 16, i_t = 16, x_t = 0   ->   algorithm   ->   structure   ->   ..
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "search/layout/layout_space.h"
#include "space/space.h"

namespace tenon::search {

// The point that the choices stand for; those of other kinds are passed over.
LayoutSpace::Point point_of(const space::Choices& choices, const LayoutSpace& layouts);
space::Choices choices_of(const LayoutSpace::Point& p, const LayoutSpace& layouts);

// `t` with other edges: only its dag and its target count. `layouts` must live as long.
std::unique_ptr<space::Space> make_edge_space(const task::Task& t, const LayoutSpace& layouts);

// The whole chain: layouts, then all that make_space(name, task of these edges) has.
std::unique_ptr<space::Space> make_operator_space(const task::Task& t, const LayoutSpace& layouts,
                                                  const std::string& name);

}  // namespace tenon::search
