// SPDX-License-Identifier: Apache-2.0
// Whole runs on the pretend device: a small network, a database and a folder for its artifact, which is checked after
// every event.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "artifact/model.h"
#include "artifact/verify.h"
#include "graph/builder.h"
#include "graph/random_graph.h"
#include "tune/session.h"

namespace tenon::tune {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Says that whatever it is asked about is `ratio` times as fast.
class PretendTimer : public measure::NetworkTimer {
 public:
  measure::NetworkTimes compare(const fs::path& a, const fs::path& b,
                                const measure::NetworkOptions&) override {
    const artifact::Model first = artifact::Model::load(a);
    const artifact::Model second = artifact::Model::load(b);
    if (same_steps) {
      EXPECT_EQ(first.steps().size(), second.steps().size());
    }
    for (const auto& s : first.steps()) EXPECT_NE(s.origin, "tuned") << "the default is tuned";
    ++asked;
    measure::NetworkTimes t;
    t.error = error;
    t.a_s = 1e-3;
    t.b_s = 1e-3 / ratio;
    t.ratio = ratio;
    t.low = low > 0 ? low : ratio;
    t.high = high > 0 ? high : ratio;
    t.difference = difference;
    for (const auto& s : second.steps()) {
      t.a_steps_s.push_back(1e-5);
      t.b_steps_s.push_back(s.origin == "tuned" && slow_inside ? 2e-5 : 0.5e-5);
    }
    return t;
  }
  double ratio = 1.5;
  double low = 0, high = 0;  // of its interval; 0: as the ratio
  double difference = 0;
  bool slow_inside = false;
  bool same_steps = true;  // not with other layouts: conversions are steps
  std::string error;
  int asked = 0;
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("session_test_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    db_ = db::Database::open((folder_ / "t.db").string());
    Rng rng(5);
    set_graph(graph::random_graph(rng, 10), rng);
  }
  void TearDown() override {
    db_.reset();
    fs::remove_all(folder_);
  }

  SessionOptions options(int64_t trials) const {
    SessionOptions o;
    o.compile.target = target::host_target();
    o.command = "test";
    o.tuner.trials = trials;
    o.tuner.space = "sketch";
    o.tuner.round = 8;
    o.tuner.threads = 1;
    o.layouts.strategy = "";
    o.tuner.search.population = 48;
    o.tuner.search.generations = 2;
    double n = 0;
    o.tuner.clock = [n]() mutable { return n += 1e-3; };
    return o;
  }

  Summary run(const SessionOptions& o, const std::function<bool()>& stop = {}) {
    const auto measurer = device();
    Session s({{.name = "net",
                .graph = graph_,
                .directory = out(),
                .provenance = {{"file", "net.onnx"}}}},
              o, *measurer, timer_, *db_, [this](const std::string& e) {
                events_.push_back(e);
                artifact_is_right(e);
              });
    return s.run(stop);
  }

  virtual std::unique_ptr<measure::Measurer> device() const {
    return measure::sim_measurer({.seed = 2, .protocol = {}, .noise = 0, .failures = 0.05});
  }

  void set_graph(graph::Graph g, Rng& rng) {
    graph_ = std::make_shared<const graph::Graph>(std::move(g));
    inputs_ = graph::random_inputs(rng, *graph_);
    expected_ = graph::evaluate(*graph_, inputs_);
  }

  fs::path out() const { return folder_ / "out"; }

  // After each event there is an artifact, and it computes what the model says.
  void artifact_is_right(const std::string& event) {
    if (Json::parse(event).at("event") == "run" || !fs::exists(out())) return;
    EXPECT_EQ(artifact::verify(out()).problems(), 0U);
    const artifact::Model m = artifact::Model::load(out());
    artifact::Session s(m, 1);
    const graph::Difference d = graph::compare(expected_, s.run(inputs_));
    EXPECT_LT(d.error, 1e-5) << d.where;
  }

  int count(const std::string& name) const {
    int n = 0;
    for (const std::string& e : events_) n += Json::parse(e).at("event") == name ? 1 : 0;
    return n;
  }

  // Events that tell what has just been decided: "pairs", "layouts" or "programs".
  std::vector<Json> decided(const std::string& what) const {
    std::vector<Json> out;
    for (const std::string& e : events_) {
      Json j = Json::parse(e);
      if (j.at("event") == "plan" && j.at("decided") == what) out.push_back(j);
    }
    return out;
  }

  // Everything that was told, but for the run's name, which is unlike any other's.
  std::vector<std::string> story() const {
    std::vector<std::string> out;
    for (const std::string& e : events_) {
      Json j = Json::parse(e);
      j.erase("run");
      out.push_back(j.dump());
    }
    return out;
  }

  int tuned_steps() const {
    int n = 0;
    const artifact::Model m = artifact::Model::load(out());
    for (const auto& s : m.steps()) n += s.origin == "tuned" ? 1 : 0;
    return n;
  }

  fs::path folder_;
  std::unique_ptr<db::Database> db_;
  std::shared_ptr<const graph::Graph> graph_;
  std::vector<ir::Array> inputs_, expected_;
  PretendTimer timer_;
  std::vector<std::string> events_;
};

}  // namespace tenon::tune
