// SPDX-License-Identifier: Apache-2.0
// Builds functions out of loops that apply an expression to every element:
//
//   ElementWise f("add"); f.input(kF32); f.input(kF32);
//   f.output(kF32, 8, [](auto& in) { return in[0] + in[1]; });
//     =>  for i in 0..30 { out2[ramp(i*8, 1, 8)] = in0[ramp(i*8, 1, 8)] + in1[ramp(i*8, 1, 8)] }
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ir/build.h"

namespace tenon::backend {

class ElementWise {
 public:
  static constexpr int64_t kElements = 240;  // lanes must divide it

  explicit ElementWise(std::string name) { f_.name = std::move(name); }

  void input(ir::DType t) {
    f_.params.push_back(ir::Buffer::make(fmt::format("in{}", f_.params.size()), t, {kElements}));
    f_.num_inputs = f_.params.size();
  }

  template <class F>
  void output(ir::DType t, int lanes, F&& fn) {
    const auto out = ir::Buffer::make(fmt::format("out{}", f_.params.size()), t, {kElements});
    const ir::Var i("i");
    const ir::Expr at = lanes == 1 ? ir::Expr(i) : ir::ramp(i * ir::Expr(lanes), 1, lanes);
    std::vector<ir::Expr> in;
    for (size_t k = 0; k < f_.num_inputs; ++k) {
      in.push_back(ir::load(f_.params[k], {at}));
    }
    const ir::Stmt body = ir::store(out, {at}, fn(in));
    loops_.push_back(ir::make_for(i, 0, kElements / lanes, ir::ForKind::kSerial, body));
    f_.params.push_back(out);
  }

  const ir::Function& get() {
    f_.body = ir::block(loops_);
    return f_;
  }

 private:
  ir::Function f_;
  std::vector<ir::Stmt> loops_;
};

}  // namespace tenon::backend
