// SPDX-License-Identifier: Apache-2.0
// The rows of the table in space.cpp.
#pragma once

#include "search/space.h"

namespace tenon::search {

std::unique_ptr<Space> make_sketch_space(const task::Task& t);
std::unique_ptr<Space> make_loop_space(const task::Task& t);
std::unique_ptr<Space> make_template_space(const task::Task& t);
std::unique_ptr<Space> make_joint_space(const task::Task& t);

}  // namespace tenon::search
