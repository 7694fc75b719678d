// SPDX-License-Identifier: Apache-2.0
#include "fuzz/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "fuzz/random_dag.h"
#include "fuzz/random_trace.h"
#include "ir/visit.h"
#include "te/text.h"

namespace tenon::fuzz {

std::string to_text(const Case& c) {
  std::string out = c.what.empty() ? "" : "# " + c.what + "\n";
  out += fmt::format("target {}\ninputs {}{}\ntrace {}\ndag\n", c.target, c.inputs,
                     c.nan ? " nan" : "", schedule::to_json(c.trace));
  return out + te::to_text(*c.dag);
}

Case parse_case(const std::string& text, const std::string& file) {
  Case c;
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line) && line != "dag") {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string key = line.substr(0, space);
    const std::string value = space < line.size() ? line.substr(space + 1) : "";
    if (key == "#") {
      c.what += (c.what.empty() ? "" : " ") + value;
    } else if (key == "target") {
      c.target = value;
    } else if (key == "inputs") {
      c.inputs = std::stoull(value);
      c.nan = value.ends_with(" nan");
    } else if (key == "trace") {
      c.trace = schedule::trace_from_json(value);
    } else if (!key.empty()) {
      throw UserError(file + ": unknown line '" + line + "'");
    }
  }
  std::ostringstream rest;
  rest << in.rdbuf();
  c.dag = std::make_shared<const te::ComputeDag>(te::parse(rest.str(), file));
  return c;
}

schedule::State initial_state(const Case& c) {
  return {c.dag, std::make_shared<const target::Target>(target::parse_target(c.target))};
}

namespace {

// P = select(inside, X[..], 0.0) and sum(k) P * W[k], of which lowering leaves out what is not inside.
bool pads_a_product(const te::ComputeDag& dag) {
  bool selects = false, sums_products = false;
  for (const te::OpRef& op : dag.ops) {
    ir::visit(op->body, [&](const ir::Expr& e) {
      selects = selects || e.kind() == ir::ExprKind::kSelect;
      const auto* b = e.as<ir::Binary>();
      sums_products = sums_products || (op->combiner == ir::BinaryOp::kAdd && b != nullptr &&
                                        b->op == ir::BinaryOp::kMul && b->dtype.is_float());
    });
  }
  return selects && sums_products;
}

}  // namespace

bool has_nan(const Case& c) {
  if (!c.nan || pads_a_product(*c.dag)) return false;
  return std::none_of(c.trace.begin(), c.trace.end(), [](const schedule::Step& s) {
    return std::holds_alternative<schedule::Variant>(s);
  });
}

std::vector<ir::Array> inputs_of(const Case& c) {
  Rng rng(c.inputs);
  auto inputs = random_inputs(*c.dag, rng);
  if (has_nan(c)) scatter_nan(inputs, rng);
  return inputs;
}

std::string check_trace(const schedule::State& initial, const schedule::Trace& trace,
                        const std::string& described) {
  const std::string json = schedule::to_json(trace);
  const schedule::Trace read = schedule::trace_from_json(json);
  if (!(read == trace) || schedule::to_json(read) != json) {
    return "trace: JSON reads back as " + schedule::to_json(read);
  }
  if (schedule::hash(read) != schedule::hash(trace)) {
    return "trace: the hash changed";
  }
  const std::string text = schedule::to_text(trace, initial);
  try {
    const schedule::Trace parsed = schedule::parse_trace(text, initial);
    if (!(parsed == trace)) {
      return "trace: text reads back as " + schedule::to_json(parsed) + "\n" + text;
    }
  } catch (const UserError& e) {
    return std::string("trace: text is refused: ") + e.what() + "\n" + text;
  }
  const auto again = schedule::replay(initial, trace);
  if (!again) {
    return "trace: replay refuses it: " + schedule::render_illegal(initial, again.illegal());
  }
  if (describe(*again) != described) {
    return "trace: replay gives another state\n" + describe(*again) + "\nnot\n" + described;
  }
  return "";
}

Outcome check_case(const Case& c, backend::Compiler* compiler, bool every_pass) {
  const schedule::State initial = initial_state(c);
  try {
    const auto state = schedule::replay(initial, c.trace);
    if (!state) {
      return {"", true};
    }
    if (std::string why = check_trace(initial, c.trace, describe(*state)); !why.empty()) {
      return {why};
    }
    const auto inputs = inputs_of(c);
    return check_program(*state, inputs, te::evaluate(*c.dag, inputs), compiler, every_pass);
  } catch (const InternalError& e) {
    return {std::string("replay: ") + e.what()};
  }
}

}  // namespace tenon::fuzz
