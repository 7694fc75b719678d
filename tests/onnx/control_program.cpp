// SPDX-License-Identifier: Apache-2.0
#include "onnx/control_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/text_model.h"

namespace tenon::onnx::testing {
namespace {

using Names = std::vector<std::string>;
using Vector = std::vector<double>;  // three numbers, or three for each row
constexpr int64_t kWidth = 3;
constexpr double kMost = 1000;

// ---- drawing ----------------------------------------------------------------------------------

class Drawer {
 public:
  explicit Drawer(Rng& rng) : rng_(rng) {}

  Program run() {
    Names names;
    for (int64_t i = 0; i < rng_.between(1, 3); ++i) {
      names.push_back(fmt::format("x{}", i));
      ir::Array a(ir::kF32, {kWidth});
      for (int64_t k = 0; k < kWidth; ++k)
        a.set_double(k, static_cast<double>(rng_.between(-9, 9)));
      p_.inputs.emplace(names.back(), a);
    }
    p_.block.prefix = "m";
    fill(p_.block, names, 0);
    Names all;
    for (const Statement& s : p_.block.statements) {
      all.insert(all.end(), s.results.begin(), s.results.end());
    }
    for (int64_t i = 0; i < rng_.between(1, 3); ++i) {
      const std::string& name = rng_.pick(rng_.chance(0.9) ? all : names);
      if (std::find(p_.outputs.begin(), p_.outputs.end(), name) == p_.outputs.end()) {
        p_.outputs.push_back(name);
      }
    }
    for (const Statement& s : p_.block.statements) {
      if (s.kind == Statement::kLoop)
        p_.outputs.insert(p_.outputs.end(), s.rows.begin(), s.rows.end());
    }
    return std::move(p_);
  }

 private:
  std::string fresh(const Block& b) { return fmt::format("{}_v{}", b.prefix, count_++); }

  void fill(Block& b, Names names, int depth) {
    const int64_t many = rng_.between(1, depth == 0 ? 5 : 3);
    for (int64_t i = 0; i < many; ++i) {
      Statement s;
      const int64_t kind = depth < 3 ? rng_.between(0, 7) : 0;
      if (kind < 4) draw_op(b, s, names);
      if (kind == 4) draw_if(b, s, names, depth);
      if (kind == 5 || kind == 6) draw_loop(b, s, names, depth);
      if (kind == 7) draw_scan(b, s, names, depth);
      names.insert(names.end(), s.results.begin(), s.results.end());
      b.statements.push_back(std::move(s));
    }
    last_names_ = names;
  }

  void draw_op(Block& b, Statement& s, const Names& names) {
    static const Names kOps = {"Add", "Sub", "Max", "Min", "Neg"};
    s.op = rng_.pick(kOps);
    s.operands = {rng_.pick(names)};
    if (s.op != "Neg") s.operands.push_back(rng_.pick(names));
    s.results = {fresh(b)};
  }

  Condition condition(const Names& names) {
    return {Condition::kLargest, rng_.pick(names), rng_.between(-6, 12)};
  }

  std::shared_ptr<Block> inner(const Block& around) {
    auto b = std::make_shared<Block>();
    b->prefix = fmt::format("{}_b{}", around.prefix, count_++);
    return b;
  }

  void draw_if(Block& b, Statement& s, const Names& names, int depth) {
    s.kind = Statement::kIf;
    s.condition = condition(names);
    const int64_t results = rng_.between(1, 2);
    for (int k = 0; k < 2; ++k) {
      const auto block = inner(b);
      fill(*block, names, depth + 1);
      for (int64_t r = 0; r < results; ++r) block->results.push_back(rng_.pick(last_names_));
      s.blocks.push_back(block);
    }
    for (int64_t r = 0; r < results; ++r) s.results.push_back(fresh(b));
  }

  // States of a turn are drawn among all names, so that some are other states, or stay as they are.
  void draw_body(Block& b, Statement& s, const Names& names, int depth, int64_t scanned) {
    const auto block = inner(b);
    for (int64_t i = 0; i < rng_.between(1, 3); ++i) {
      s.operands.push_back(rng_.pick(names));
      block->states.push_back(fresh(*block));
      s.results.push_back(fresh(b));
    }
    Names inside = names;
    inside.insert(inside.end(), block->states.begin(), block->states.end());
    if (s.kind == Statement::kLoop) inside.push_back(block->turn = fresh(*block));
    if (s.kind == Statement::kScan) inside.push_back(block->element = fresh(*block));
    fill(*block, inside, depth + 1);
    for (size_t i = 0; i < block->states.size(); ++i) {
      block->results.push_back(rng_.chance(0.3) ? rng_.pick(block->states)
                                                : rng_.pick(last_names_));
    }
    for (int64_t i = 0; i < scanned; ++i) {
      block->scanned.push_back(rng_.pick(last_names_));
      s.rows.push_back(fresh(b));
    }
    if (s.kind == Statement::kLoop && (s.count < 0 || rng_.chance(0.4))) {
      block->next = condition(last_names_);
      if (s.count < 0) block->next = {Condition::kTurn, block->turn, rng_.between(0, 4)};
    }
    s.blocks.push_back(block);
  }

  void draw_loop(Block& b, Statement& s, const Names& names, int depth) {
    s.kind = Statement::kLoop;
    static const std::vector<int64_t> kCounts = {-1, 0, 1, 2, 3, 5, 40};
    s.count = rng_.pick(kCounts);
    if (depth > 0) s.count = std::min<int64_t>(s.count, 5);
    if (rng_.chance(0.3)) s.condition = condition(names);
    const bool known = s.count >= 0 && rng_.chance(0.6);
    if (s.count >= 0 && !known) {
      s.count_input = fmt::format("n{}", count_++);
      ir::Array n(ir::kI64, {});
      n.set(0, {s.count, 0});
      p_.inputs.emplace(s.count_input, n);
    }
    draw_body(b, s, names, depth, known && depth == 0 ? rng_.between(0, 2) : 0);
  }

  void draw_scan(Block& b, Statement& s, const Names& names, int depth) {
    s.kind = Statement::kScan;
    static const std::vector<int64_t> kCounts = {1, 2, 4, 37};
    s.count = depth == 0 ? rng_.pick(kCounts) : rng_.between(1, 4);
    s.through = fmt::format("m{}", count_++);
    s.backward = rng_.chance(0.3);
    ir::Array m(ir::kF32, {s.count, kWidth});
    for (int64_t k = 0; k < m.elements(); ++k) {
      m.set_double(k, static_cast<double>(rng_.between(-9, 9)));
    }
    p_.inputs.emplace(s.through, m);
    draw_body(b, s, names, depth, rng_.between(0, 1));
    // What was scanned is computed with.
    if (!s.rows.empty()) s.results.push_back(s.rows[0] + "_most");
  }

  Rng& rng_;
  Program p_;
  Names last_names_;
  int count_ = 0;
};

// ---- as a model -------------------------------------------------------------------------------

std::string words(const Names& names) { return fmt::format("{}", fmt::join(names, " ")); }

std::string floats_of(const std::string& name, double v) {
  return fmt::format("initializer {{ name: \"{}\" data_type: 1 float_data: {} }}\n", name, v);
}

class Writer {
 public:
  std::string model(const Program& p) {
    std::string nodes = statements(p.block, "");
    std::string text = "graph { name: \"g\"\n";
    for (const auto& [name, a] : p.inputs) {
      text += value("input", name, words(shape_words(a)), a.dtype() == ir::kF32 ? 1 : 7);
    }
    text += floats_of("low", -kMost) + floats_of("high", kMost) +
            "initializer { name: \"yes\" data_type: 9 int32_data: 1 }\n" + constants_;
    Names given;
    for (const std::string& name : p.outputs) {
      given.push_back(name + "_out");
      nodes += node("Identity", name, given.back());
    }
    text += nodes;
    for (const std::string& name : given) text += value("output", name, "?");
    return model_bytes(text + "}");
  }

 private:
  static Names shape_words(const ir::Array& a) {
    Names list;
    for (const int64_t e : a.shape()) list.push_back(std::to_string(e));
    return list;
  }

  // The name of a bool.
  std::string condition(const Condition& c, const std::string& prefix, std::string& nodes) {
    if (c.kind == Condition::kAlways) return "yes";
    const std::string name = fmt::format("{}_c{}", prefix, count_++);
    constants_ += floats_of(name + "_limit", static_cast<double>(c.c));
    nodes +=
        node("ReduceMax", c.x, name + "_most", "attribute { name: \"keepdims\" type: INT i: 0 }");
    nodes += node("Less", name + "_most " + name + "_limit", name);
    return name;
  }

  std::string statements(const Block& b, std::string text) {
    for (const Statement& s : b.statements) text += statement(s, b);
    return text;
  }

  std::string statement(const Statement& s, const Block& around) {
    std::string nodes;
    if (s.kind == Statement::kOp) {
      const bool grows = s.op == "Add" || s.op == "Sub";
      nodes += node(s.op, words(s.operands), s.results[0] + (grows ? "_all" : ""));
      if (grows) nodes += node("Clip", s.results[0] + "_all low high", s.results[0]);
      return nodes;
    }
    const std::string first = condition(s.condition, around.prefix, nodes);
    if (s.kind == Statement::kIf) {
      return nodes + node("If", first, words(s.results),
                          graph("then_branch", *s.blocks[0]) + graph("else_branch", *s.blocks[1]));
    }
    Names outputs(s.results.begin(), s.results.begin() + std::ssize(s.operands));
    outputs.insert(outputs.end(), s.rows.begin(), s.rows.end());
    if (s.kind == Statement::kLoop) {
      std::string count = s.count < 0 ? "-" : s.count_input;
      if (count.empty()) {
        count = fmt::format("count{}", count_++);
        constants_ += fmt::format("initializer {{ name: \"{}\" data_type: 7 int64_data: {} }}\n",
                                  count, s.count);
      }
      const std::string given =
          s.condition.kind == Condition::kAlways && count != "-" ? "-" : first;
      return nodes + node("Loop", count + " " + given + " " + words(s.operands), words(outputs),
                          graph("body", *s.blocks[0]));
    }
    nodes += node(
        "Scan", words(s.operands) + " " + s.through, words(outputs),
        graph("body", *s.blocks[0]) + "attribute { name: \"num_scan_inputs\" type: INT i: 1 }" +
            fmt::format("attribute {{ name: \"scan_input_directions\" type: INTS ints: {} }}",
                        s.backward ? 1 : 0));
    if (!s.rows.empty()) {
      nodes +=
          node("ReduceMax", s.rows[0], s.rows[0] + "_most",
               "attribute { name: \"axes\" type: INTS ints: 0 } attribute { name: \"keepdims\" "
               "type: INT i: 0 }");
    }
    return nodes;
  }

  std::string graph(const std::string& attribute, const Block& b) {
    std::string text =
        fmt::format("attribute {{ name: \"{}\" type: GRAPH g {{ name: \"b\"\n", attribute);
    std::string nodes;
    if (!b.turn.empty()) {
      text += value("input", b.turn + "_n", "", 7) + value("input", b.turn + "_go", "", 9);
      nodes +=
          node("Cast", b.turn + "_n", b.turn + "_f", "attribute { name: \"to\" type: INT i: 1 }");
      nodes += node("Expand", b.turn + "_f width", b.turn);
    }
    for (const std::string& s : b.states) text += value("input", s, "3");
    if (!b.element.empty()) text += value("input", b.element, "3");
    nodes = statements(b, nodes);
    Names outputs;
    if (!b.turn.empty()) {
      const std::string next = condition(b.next, b.prefix, nodes);
      nodes += node("Identity", next == "yes" ? b.turn + "_go" : next, b.prefix + "_next");
      outputs.push_back(b.prefix + "_next");
    }
    for (const Names* list : {&b.results, &b.scanned}) {
      for (const std::string& name : *list) {
        outputs.push_back(fmt::format("{}_r{}", b.prefix, count_++));
        nodes += node("Identity", name, outputs.back());
      }
    }
    text += nodes;
    for (const std::string& name : outputs) text += value("output", name, "");
    return text + "} }\n";
  }

  std::string constants_ = "initializer { name: \"width\" dims: 1 data_type: 7 int64_data: 3 }\n";
  int count_ = 0;
};

// ---- run --------------------------------------------------------------------------------------

using Env = std::map<std::string, Vector>;

double apply(const std::string& op, double a, double b) {
  if (op == "Add") return std::clamp(a + b, -kMost, kMost);
  if (op == "Sub") return std::clamp(a - b, -kMost, kMost);
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  return -a;
}

bool holds(const Condition& c, const Env& env) {
  if (c.kind == Condition::kAlways) return true;
  const Vector& x = env.at(c.x);
  return *std::max_element(x.begin(), x.end()) < static_cast<double>(c.c);
}

void run_block(const Block& b, Env& env);

// The environment is copied: names of a block are not seen outside of it.
void run_if(const Statement& s, Env& env) {
  const Block& b = *s.blocks[holds(s.condition, env) ? 0 : 1];
  Env inside = env;
  run_block(b, inside);
  for (size_t i = 0; i < s.results.size(); ++i) env[s.results[i]] = inside.at(b.results[i]);
}

void run_turns(const Statement& s, Env& env) {
  const Block& b = *s.blocks[0];
  std::vector<Vector> state, rows(s.rows.size());
  for (const std::string& name : s.operands) state.push_back(env.at(name));
  bool more = holds(s.condition, env);
  for (int64_t turn = 0; more && (s.count < 0 || turn < s.count); ++turn) {
    Env inside = env;
    for (size_t i = 0; i < state.size(); ++i) inside[b.states[i]] = state[i];
    if (!b.turn.empty()) inside[b.turn] = Vector(kWidth, static_cast<double>(turn));
    if (!b.element.empty()) {
      const Vector& all = env.at(s.through);
      const int64_t at = kWidth * (s.backward ? s.count - 1 - turn : turn);
      inside[b.element] = Vector(all.begin() + at, all.begin() + at + kWidth);
    }
    run_block(b, inside);
    for (size_t i = 0; i < state.size(); ++i) state[i] = inside.at(b.results[i]);
    for (size_t i = 0; i < rows.size(); ++i) {
      const Vector& row = inside.at(b.scanned[i]);
      rows[i].insert(rows[i].end(), row.begin(), row.end());
    }
    more = holds(b.next, inside);
  }
  for (size_t i = 0; i < state.size(); ++i) env[s.results[i]] = state[i];
  for (size_t i = 0; i < rows.size(); ++i) env[s.rows[i]] = rows[i];
  if (s.kind == Statement::kScan && !s.rows.empty()) {
    Vector most(rows[0].begin(), rows[0].begin() + kWidth);
    for (size_t k = 0; k < rows[0].size(); ++k)
      most[k % kWidth] = std::max(most[k % kWidth], rows[0][k]);
    env[s.results.back()] = most;
  }
}

void run_block(const Block& b, Env& env) {
  for (const Statement& s : b.statements) {
    if (s.kind == Statement::kIf) {
      run_if(s, env);
    } else if (s.kind != Statement::kOp) {
      run_turns(s, env);
    } else {
      Vector out;
      for (size_t k = 0; k < kWidth; ++k) {
        out.push_back(apply(s.op, env.at(s.operands[0])[k], env.at(s.operands.back())[k]));
      }
      env[s.results[0]] = out;
    }
  }
}

}  // namespace

std::string Program::model() const { return Writer().model(*this); }

std::vector<ir::Array> Program::run() const {
  Env env;
  for (const auto& [name, a] : inputs) {
    for (int64_t i = 0; i < a.elements(); ++i) env[name].push_back(a.get_double(i));
  }
  run_block(block, env);
  std::vector<ir::Array> out;
  for (const std::string& name : outputs) {
    const Vector& v = env.at(name);
    const bool rows =
        std::any_of(block.statements.begin(), block.statements.end(), [&](const auto& s) {
          return std::find(s.rows.begin(), s.rows.end(), name) != s.rows.end();
        });
    const auto many = static_cast<int64_t>(v.size()) / kWidth;
    ir::Array a(ir::kF32, rows ? std::vector<int64_t>{many, kWidth} : std::vector<int64_t>{kWidth});
    for (size_t i = 0; i < v.size(); ++i) a.set_double(static_cast<int64_t>(i), v[i]);
    out.push_back(std::move(a));
  }
  return out;
}

Program draw_program(Rng& rng) { return Drawer(rng).run(); }

}  // namespace tenon::onnx::testing
