// SPDX-License-Identifier: Apache-2.0
#include "tune/network.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "support/process.h"

namespace tenon::tune {
namespace {

constexpr double kAround = 60;  // seconds for loading, the first runs, and a busy machine

class ProcessTimer : public NetworkTimer {
 public:
  explicit ProcessTimer(std::string tool) : tool_(std::move(tool)) {}

  NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b, int threads,
                       double seconds) override {
    const ProcessResult r = run_process(
        {tool_, "bench", a.string(), "--against", b.string(), "--threads", std::to_string(threads),
         "--duration", fmt::format("{}", seconds), "--json", "--parent", std::to_string(getpid())},
        kAround + 10 * seconds);
    if (r.late) return failed("the comparison took too long and was stopped");
    if (r.status != 0) return failed(r.err.empty() ? "the comparison crashed" : r.err);
    try {
      return read(r.out);
    } catch (const nlohmann::json::exception& e) {
      return failed(std::string("the comparison gave no answer that can be read: ") + e.what());
    }
  }

 private:
  static NetworkTimes failed(const std::string& why) {
    NetworkTimes t;
    t.error = why;
    return t;
  }

  static NetworkTimes read(const std::string& text) {
    const auto j = nlohmann::json::parse(text);
    NetworkTimes t;
    t.a_s = j.at("a_s");
    t.b_s = j.at("b_s");
    t.ratio = j.at("ratio");
    t.low = j.at("low");
    t.high = j.at("high");
    t.a_steps_s = j.at("a_steps_s").get<std::vector<double>>();
    t.b_steps_s = j.at("b_steps_s").get<std::vector<double>>();
    t.difference = j.at("difference");
    return t;
  }

  std::string tool_;
};

}  // namespace

std::unique_ptr<NetworkTimer> process_network_timer(const std::string& tenon) {
  return std::make_unique<ProcessTimer>(tenon);
}

}  // namespace tenon::tune
