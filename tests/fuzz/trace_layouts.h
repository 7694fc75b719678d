// SPDX-License-Identifier: Apache-2.0
// Layout steps of one stage with random arguments, single ones and those that belong together.
#pragma once

#include "fuzz/trace_drawer.h"

namespace tenon::fuzz {

schedule::Step draw_layout_split(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_reorder(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_fuse(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_pad(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_swizzle(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_unfold(TraceDrawer& d, schedule::StageRef s);
schedule::Step draw_layout_store_at(TraceDrawer& d, schedule::StageRef host);

// N C H W -> N C/v H W v
void block_dim(TraceDrawer& d, schedule::StageRef s);
// Zeros where a reader's guarded accesses would leave the tensor.
void pad_for_reader(TraceDrawer& d, schedule::StageRef s);
// Tiles that hold whole windows of a reader: size V*(w - 1) + M, stride V*w.
void unfold_for_reader(TraceDrawer& d, schedule::StageRef s);

}  // namespace tenon::fuzz
