// SPDX-License-Identifier: Apache-2.0
// tenon data encode: what a model sees of programs, for training elsewhere.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "files/array_files.h"
#include "history/machines.h"
#include "history/train.h"
#include "support/parallel.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

template <class T>
ir::Array array_of(ir::DType dtype, const std::vector<T>& values, std::vector<int64_t> shape) {
  ir::Array out(dtype, std::move(shape));
  std::memcpy(out.data(), values.data(), values.size() * sizeof(T));
  return out;
}

struct Encoded {
  std::vector<float> rows;      // of all programs, one after the other
  std::vector<int32_t> sizes;   // rows of each program
  std::vector<int32_t> tasks;   // number of its task
  std::vector<double> seconds;  // programs x machines; NaN: not measured, infinity: failed
  std::vector<int32_t> held_out;
  int64_t width = 0, refused = 0;
};

Encoded encode_all(const history::Joined& joined, const cost::CostModel& model) {
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<cost::Row> rows(joined.programs.size());
  for_each_parallel(rows.size(), threads, [&](size_t i) {
    const history::JoinedProgram& p = joined.programs[i];
    auto row = model.encode({.task = joined.tasks[p.task],
                             .trace = p.trace,
                             .choices = p.choices.empty() ? nullptr : &p.choices});
    if (row) rows[i] = std::move(row.value());
  });
  Encoded out;
  for (size_t i = 0; i < rows.size(); ++i) {
    const history::JoinedProgram& p = joined.programs[i];
    if (rows[i].rows() == 0) {
      ++out.refused;
      continue;
    }
    out.width = rows[i].width;
    out.rows.insert(out.rows.end(), rows[i].values.begin(), rows[i].values.end());
    out.sizes.push_back(static_cast<int32_t>(rows[i].rows()));
    out.tasks.push_back(static_cast<int32_t>(p.task));
    out.seconds.insert(out.seconds.end(), p.seconds.begin(), p.seconds.end());
    out.held_out.push_back(history::is_held_out(joined.computations[p.task]) ? 1 : 0);
  }
  return out;
}

void write(const std::string& file, const Encoded& e, int64_t machines) {
  const std::vector<int64_t> programs = {std::ssize(e.sizes)};
  const int64_t rows = e.width == 0 ? 0 : std::ssize(e.rows) / e.width;
  files::write_npz(file,
                   {{"rows", array_of(ir::kF32, e.rows, {rows, e.width})},
                    {"sizes", array_of(ir::kI32, e.sizes, programs)},
                    {"tasks", array_of(ir::kI32, e.tasks, programs)},
                    {"held_out", array_of(ir::kI32, e.held_out, programs)},
                    {"seconds", array_of(ir::kF64, e.seconds, {programs[0], machines})}},
                   files::Compression::kDeflated);
}

}  // namespace

int data_encode(const DataVerbOptions& o, const Console& console) {
  const auto db = open_data(o);
  std::vector<history::Where> where;
  Json names = Json::array();
  for (const Machine& m : machines(*db, o.select)) {
    where.push_back(m.where);
    names.push_back({{"target", m.where.measured}, {"protocol", m.where.protocol}});
  }
  const history::Joined joined = history::join_machines(*db, where, limits_of(o));
  const auto model = cost::make_model(o.cost_model, 1, 1);
  const Encoded e = encode_all(joined, *model);
  write(o.output, e, std::ssize(where));
  Json tasks = Json::array();
  for (size_t t = 0; t < joined.tasks.size(); ++t) {
    tasks.push_back({{"key", joined.tasks[t].key},
                     {"computation", joined.computations[t]},
                     {"label", joined.tasks[t].label}});
  }
  const Json answer = {{"schema", "tenon.data/1"}, {"verb", "encode"},
                       {"file", o.output},         {"model", o.cost_model},
                       {"columns", e.width},       {"programs", e.sizes.size()},
                       {"refused", e.refused},     {"left_out", joined.left_out},
                       {"machines", names},        {"tasks", tasks}};
  console.answer(console.json() ? to_text(answer)
                                : fmt::format("{}: {} of {}, {} columns, {}; {} refused\n",
                                              o.output, counted(e.sizes.size(), "program"),
                                              counted(joined.tasks.size(), "task"), e.width,
                                              counted(where.size(), "machine"), e.refused));
  return kExitOk;
}

}  // namespace tenon::tools
