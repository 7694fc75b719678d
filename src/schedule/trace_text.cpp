// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "schedule/trace.h"
#include "schedule/words.h"

namespace tenon::schedule {

namespace {

constexpr std::string_view kBlank = " \t\r\n,";
constexpr std::string_view kEndsWord = " \t\r\n,[]#";

// True if the tokenizer gives this name back as one word.
bool is_word(std::string_view name) {
  return !name.empty() && name[0] != '%' && name.find_first_of(kEndsWord) == std::string_view::npos;
}

// ---- printing --------------------------------------------------------------------------------

class Printer {
 public:
  explicit Printer(const State& s) : s_(s) {}
  std::string text;

  void operator()(const StageRef& v) {
    stage_ = v.id;
    add_word(stage_name(v.id));
  }
  void operator()(const LoopRef& v) { add_word(loop_name(v)); }
  void operator()(int64_t v) { add_word(std::to_string(v)); }
  void operator()(ir::Scope v) { add_word(std::string(word(v))); }
  void operator()(ir::ThreadTag v) { add_word(std::string(word(v))); }
  void operator()(Dot v) { add_word(std::string(word(v))); }
  void operator()(Algorithm v) { add_word(std::string(word(v))); }
  void operator()(const std::vector<LoopRef>& v) {
    list(v, [&](const LoopRef& l) { return loop_name(l); });
  }
  void operator()(const std::vector<StageRef>& v) {
    list(v, [&](const StageRef& r) { return stage_name(r.id); });
  }
  void operator()(const std::vector<int64_t>& v) {
    list(v, [](int64_t x) { return std::to_string(x); });
  }
  void flag(const char* name, bool v) {
    if (v) add_word(name);
  }

 private:
  void add_word(const std::string& w) { text += " " + w; }
  template <class T, class Fn>
  void list(const std::vector<T>& v, Fn&& one) {
    std::string out;
    for (const T& x : v) out += (out.empty() ? "" : ", ") + one(x);
    add_word("[" + out + "]");
  }
  static std::string by_id(int32_t id) { return "%" + std::to_string(id); }
  std::string stage_name(StageId id) const {
    if (!s_.has(StageRef{id}) || !is_word(s_.stage(id).name)) return by_id(id);
    return s_.stage(id).name;
  }
  std::string loop_name(LoopRef l) const {
    if (!s_.has(StageRef{stage_}) || !s_.stage(stage_).has_loop(l.id)) return by_id(l.id);
    const std::string name = s_.stage(stage_).loop_name(l.id);
    return is_word(name) && s_.stage(stage_).find_loop(name) == l.id ? name : by_id(l.id);
  }

  const State& s_;
  StageId stage_ = -1;
};

// ---- parsing ---------------------------------------------------------------------------------

struct Token {
  std::string_view text;
  int column = 0;  // 1-based
};

std::vector<Token> tokenize(std::string_view line) {
  std::vector<Token> out;
  size_t i = 0;
  while (i < line.size() && line[i] != '#') {
    const char c = line[i];
    if (kBlank.find(c) != std::string_view::npos) {
      ++i;
      continue;
    }
    const size_t start = i++;
    if (c != '[' && c != ']') {
      while (i < line.size() && kEndsWord.find(line[i]) == std::string_view::npos) ++i;
    }
    out.push_back({line.substr(start, i - start), static_cast<int>(start) + 1});
  }
  return out;
}

class LineParser {
 public:
  LineParser(const State& s, std::vector<Token> tokens, const std::string& file, int line,
             size_t length)
      : s_(s),
        tokens_(std::move(tokens)),
        file_(file),
        line_(line),
        end_column_(static_cast<int>(length) + 1) {}

  Step parse() {
    const PrimitiveRow* row = find_primitive(tokens_[0].text);
    if (row == nullptr) {
      std::string names;
      for (const PrimitiveRow& r : primitives())
        names += (names.empty() ? "" : ", ") + std::string(r.name);
      fail(tokens_[0], "unknown primitive '" + std::string(tokens_[0].text) + "'",
           "known: " + names);
    }
    next_ = 1;
    Step step = row->make();
    std::visit(
        [&](auto& p) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
            for_each_field(p, [&](const auto& f, auto& v) { read(f.name, v); });
          }
        },
        step);
    if (next_ < tokens_.size())
      fail(tokens_[next_], "unexpected '" + std::string(tokens_[next_].text) + "'");
    return step;
  }

 private:
  [[noreturn]] void fail(const Token& at, const std::string& what,
                         const std::string& hint = "") const {
    throw UserError(file_, line_, at.column, what, hint);
  }

  const Token& take(const std::string& what) {
    if (next_ >= tokens_.size()) {
      throw UserError(file_, line_, end_column_,
                      std::string(tokens_[0].text) + ": " + what + " is missing");
    }
    return tokens_[next_++];
  }

  // The number in %4; nothing for a name.
  std::optional<int32_t> id_of(const Token& t) const {
    if (t.text[0] != '%') return std::nullopt;
    int32_t id = 0;
    const char* end = t.text.data() + t.text.size();
    const auto [p, ec] = std::from_chars(t.text.data() + 1, end, id);
    if (ec != std::errc() || p != end || id < 0) {
      fail(t, "an id is expected after %, not '" + std::string(t.text.substr(1)) + "'");
    }
    return id;
  }
  void read(const char* name, StageRef& v) {
    v = stage(take(name));
    stage_ = v.id;
  }
  StageRef stage(const Token& t) const {
    if (const auto id = id_of(t)) return {*id};
    const StageId id = s_.find(t.text);
    if (id < 0) {
      std::string names;
      for (const StageId o : s_.order()) names += (names.empty() ? "" : ", ") + s_.stage(o).name;
      fail(t, "there is no stage '" + std::string(t.text) + "'", "stages: " + names);
    }
    return {id};
  }
  void read(const char* name, LoopRef& v) { v = loop(take(name)); }
  LoopRef loop(const Token& t) const {
    if (const auto id = id_of(t)) return {*id};
    if (!s_.has(StageRef{stage_})) fail(t, "there is no stage %" + std::to_string(stage_));
    const Stage& st = s_.stage(stage_);
    const LoopId id = st.find_loop(t.text);
    if (id < 0) {
      std::string names;
      for (const LoopId l : st.leaves) names += (names.empty() ? "" : ", ") + st.loop_name(l);
      fail(t, "stage " + st.name + " has no loop '" + std::string(t.text) + "'",
           names.empty() ? "it is an input" : "loops: " + names);
    }
    return {id};
  }
  int64_t number(const Token& t) const {
    int64_t v = 0;
    const auto [p, ec] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
    if (ec == std::errc::result_out_of_range) {
      fail(t, std::string(t.text) + " does not fit into 64 bits");
    }
    if (ec != std::errc() || p != t.text.data() + t.text.size()) {
      fail(t, "a number is expected, not '" + std::string(t.text) + "'");
    }
    return v;
  }
  void read(const char* name, int64_t& v) { v = number(take(name)); }
  void read(const char* name, bool& v) {
    v = next_ < tokens_.size() && tokens_[next_].text == name;
    if (v) ++next_;
  }
  void read(const char* name, ir::Scope& v) {
    const Token& t = take(name);
    const auto scope = parse_scope(t.text);
    if (!scope)
      fail(t, "unknown scope '" + std::string(t.text) + "'", "global, shared, local, register");
    v = *scope;
  }
  void read(const char* name, ir::ThreadTag& v) {
    const Token& t = take(name);
    const auto tag = parse_tag(t.text);
    if (!tag) fail(t, "unknown thread dimension '" + std::string(t.text) + "'");
    v = *tag;
  }
  void read(const char* name, Dot& v) {
    const Token& t = take(name);
    const auto dot = parse_dot(t.text);
    if (!dot) {
      std::string names;
      for (const DotRow& r : dots()) names += (names.empty() ? "" : ", ") + std::string(r.name);
      fail(t, "unknown intrinsic '" + std::string(t.text) + "'", names);
    }
    v = *dot;
  }
  void read(const char* name, Algorithm& v) {
    const Token& t = take(name);
    const auto algorithm = parse_algorithm(t.text);
    if (!algorithm) {
      std::string names;
      for (const AlgorithmRow& r : algorithms())
        names += (names.empty() ? "" : ", ") + std::string(r.name);
      fail(t, "unknown algorithm '" + std::string(t.text) + "'", names);
    }
    v = *algorithm;
  }
  template <class T>
  void read(const char* name, std::vector<T>& v) {
    const Token& open = take(name);
    if (open.text != "[") fail(open, std::string(name) + " is a list in [ ]");
    for (;;) {
      const Token& t = take("]");
      if (t.text == "]") return;
      if constexpr (std::is_same_v<T, int64_t>) {
        v.push_back(number(t));
      } else if constexpr (std::is_same_v<T, LoopRef>) {
        v.push_back(loop(t));
      } else {
        v.push_back(stage(t));
      }
    }
  }

  const State& s_;
  std::vector<Token> tokens_;
  const std::string file_;
  int line_;
  int end_column_;
  size_t next_ = 0;
  StageId stage_ = -1;
};

}  // namespace

std::string to_text(const Step& step, const State& s) {
  Printer print(s);
  print.text = std::string(row_of(step).name);
  std::visit(
      [&](const auto& p) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          for_each_field(p, [&](const auto& f, const auto& v) {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, bool>) {
              print.flag(f.name, v);
            } else {
              print(v);
            }
          });
        }
      },
      step);
  return print.text;
}

std::string to_text(const Trace& trace, const State& initial) {
  State s = initial;
  std::string out;
  for (const Step& step : trace) {
    out += to_text(step, s);
    if (auto ok = schedule::check(step, s); !ok)
      return out + "  # refused: " + render_illegal(s, ok.illegal()) + "\n";
    out += "\n";
    schedule::apply(step, s);
  }
  return out;
}

Step parse_step(const std::string& line, const State& s) {
  auto tokens = tokenize(line);
  if (tokens.empty()) throw UserError("trace", 1, 1, "a step is expected");
  return LineParser(s, std::move(tokens), "trace", 1, line.size()).parse();
}

Trace parse_trace(const std::string& text, const State& initial, const std::string& file) {
  State s = initial;
  Trace trace;
  int line_number = 0;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    ++line_number;
    auto tokens = tokenize(line);
    if (tokens.empty()) continue;
    const int column = tokens[0].column;
    if (trace.size() >= kMaxSteps) {
      throw UserError(file, line_number, column,
                      "a trace has at most " + std::to_string(kMaxSteps) + " steps");
    }
    Step step = LineParser(s, std::move(tokens), file, line_number, line.size()).parse();
    if (auto ok = schedule::check(step, s); !ok) {
      throw UserError(file, line_number, column,
                      to_text(step, s) + ": " + render_illegal(s, ok.illegal()));
    }
    schedule::apply(step, s);
    trace.push_back(std::move(step));
  }
  return trace;
}

}  // namespace tenon::schedule
