// SPDX-License-Identifier: Apache-2.0
// What the parts of a session share: the models, what was asked for, the machine, and the run.
#pragma once

#include <vector>

#include "history/records.h"
#include "tune/run_log.h"
#include "tune/session.h"

namespace tenon::tune {

struct SessionParts {
  std::vector<Model> models;
  SessionOptions options;
  measure::Measurer& measurer;
  measure::NetworkTimer& timer;
  db::Database& db;
  Stopwatch watch;
  RunLog log;

  // Where records come from that hold here.
  history::Where where() const {
    return {std::make_shared<const target::Target>(options.compile.target), machine(),
            measurer.protocol()};
  }
  std::string machine() const { return measurer.target(options.compile.target); }
  Tell tell() {
    return [this](const events::Event& e) { log.tell(e); };
  }
};

}  // namespace tenon::tune
