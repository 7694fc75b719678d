// SPDX-License-Identifier: Apache-2.0
#include "measure/network_compare.h"

#include "measure/network_wire.h"
#include "measure/worker.h"

namespace tenon::measure {
namespace {

constexpr double kAroundS = 60;      // for loading, the first runs, and a busy machine
constexpr double kTimesLonger = 10;  // than was asked for: runs of large networks

NetworkTimes failed(const std::string& why) {
  NetworkTimes t;
  t.error = why;
  return t;
}

class ProcessTimer : public NetworkTimer {
 public:
  explicit ProcessTimer(const std::string& tool) : worker_(tool, {}, /*calls=*/1) {}

  // Each comparison has a process of its own: no library of an earlier one is left in it.
  NetworkTimes compare(const std::filesystem::path& a, const std::filesystem::path& b,
                       const NetworkOptions& options) override {
    const double limit_s = kAroundS + kTimesLonger * options.seconds;
    NetworkJob job{std::filesystem::absolute(a).string(),
                   std::filesystem::absolute(b).string(),
                   options.threads,
                   options.seconds,
                   {}};
    for (const ir::Array& in : options.inputs) {
      job.inputs.push_back({in.shape(), std::string(reinterpret_cast<const char*>(in.data()),
                                                    static_cast<size_t>(in.bytes()))});
    }
    const Answer answer = worker_.call(encode(job), limit_s, options.threads);
    worker_.stop();
    switch (answer.kind) {
      case Answer::Kind::kLate:
        return failed("the comparison took too long and was stopped");
      case Answer::Kind::kDied:
        return failed("the comparison " + answer.how);
      case Answer::Kind::kMessage:
        break;
    }
    NetworkTimes t;
    return decode(answer.message, t) ? t : failed("the comparison gave no answer that can be read");
  }

 private:
  Worker worker_;
};

}  // namespace

std::unique_ptr<NetworkTimer> network_timer(const std::string& tool) {
  return std::make_unique<ProcessTimer>(tool);
}

}  // namespace tenon::measure
