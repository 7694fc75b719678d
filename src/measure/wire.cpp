// SPDX-License-Identifier: Apache-2.0
#include "measure/wire.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tenon::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : forever_(seconds < 0),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(forever_ ? 0 : seconds))) {}
  // For poll().
  int left_ms() const {
    if (forever_) return -1;
    const double left = std::chrono::duration<double, std::milli>(end_ - Clock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(std::ceil(left));
  }

 private:
  bool forever_;
  Clock::time_point end_;
};

Got wait_for(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd p = {fd, events, 0};
    const int left = deadline.left_ms();
    const int n = poll(&p, 1, left);
    if (n > 0) return Got::kMessage;  // an error shows when it is read
    if (n == 0) return Got::kLate;
    if (errno != EINTR) return Got::kGone;
  }
}

Got write_all(int fd, const char* data, size_t size, const Deadline& deadline) {
  while (size > 0) {
    const ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      data += n;
      size -= static_cast<size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return Got::kGone;
    if (const Got g = wait_for(fd, POLLOUT, deadline); g != Got::kMessage) return g;
  }
  return Got::kMessage;
}

Got read_all(int fd, char* data, size_t size, const Deadline& deadline) {
  while (size > 0) {
    if (const Got g = wait_for(fd, POLLIN, deadline); g != Got::kMessage) return g;
    const ssize_t n = ::recv(fd, data, size, MSG_DONTWAIT);
    if (n > 0) {
      data += n;
      size -= static_cast<size_t>(n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
      return Got::kGone;
    }
  }
  return Got::kMessage;
}

void put(std::string& out, uint64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }

// False if the bytes are not a whole list of strings.
bool split(const std::string& bytes, Message& m) {
  m.clear();
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    if (bytes.size() - at < sizeof size) return false;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += sizeof size;
    if (size > bytes.size() - at) return false;
    m.push_back(bytes.substr(at, size));
    at += size;
  }
  return true;
}

bool parse(const std::string& text, double& v) {
  char* end = nullptr;
  v = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0;
}

bool parse(const std::string& text, int64_t& v) {
  char* end = nullptr;
  v = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == 0;
}

}  // namespace

bool has_channel() {
  struct stat s {};
  return fstat(kChannel, &s) == 0 && S_ISSOCK(s.st_mode);
}

Got wait(int fd, double seconds) { return wait_for(fd, POLLIN, Deadline(seconds)); }

Got send(int fd, const Message& m, double seconds) {
  std::string bytes(sizeof(uint64_t), '\0');
  for (const std::string& field : m) {
    put(bytes, field.size());
    bytes += field;
  }
  const uint64_t size = bytes.size() - sizeof size;
  std::memcpy(bytes.data(), &size, sizeof size);
  return write_all(fd, bytes.data(), bytes.size(), Deadline(seconds));
}

Got receive(int fd, Message& m, double seconds) {
  const Deadline deadline(seconds);
  uint64_t size = 0;
  Got g = read_all(fd, reinterpret_cast<char*>(&size), sizeof size, deadline);
  if (g != Got::kMessage) return g;
  if (size > kMostBytes) return Got::kGone;
  std::string bytes(size, '\0');
  g = read_all(fd, bytes.data(), size, deadline);
  if (g != Got::kMessage) return g;
  return split(bytes, m) ? Got::kMessage : Got::kGone;
}

void exit_when_left(int fd, std::function<void()> last) {
  std::thread([fd, last = std::move(last)] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (;;) {
      pollfd p = {fd, POLLRDHUP, 0};
      if (poll(&p, 1, -1) > 0) break;
    }
    if (last) last();
    _exit(0);
  }).detach();
}

std::string to_text(double v) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", v);
  return text;
}

std::string to_text(const Param& p) {
  return std::string(1, p.role) + " " + p.dtype + " " + std::to_string(p.bytes);
}

bool parse_param(const std::string& text, Param& p) {
  const size_t space = text.rfind(' ');
  if (text.size() < 5 || text[1] != ' ' || space < 3 || space == std::string::npos) return false;
  p.role = text[0];
  p.dtype = text.substr(2, space - 2);
  return parse(text.substr(space + 1), p.bytes) && p.bytes >= 0;
}

Message encode(const RunJob& job) {
  Message m = {"run",
               job.library,
               std::to_string(job.workspace_bytes),
               std::to_string(job.threads),
               job.cold ? "cold" : "warm",
               to_text(job.min_run_s),
               to_text(job.limit_s),
               to_text(job.best_s),
               job.check ? "check" : "time",
               std::to_string(job.poison),
               job.device};
  for (const Param& p : job.params) m.push_back(to_text(p));
  return m;
}

bool decode(const Message& m, RunJob& job) {
  constexpr size_t kFixed = 11;
  int64_t threads = 0;
  int64_t poison = 0;
  if (m.size() < kFixed || m[0] != "run" || !parse(m[2], job.workspace_bytes) ||
      !parse(m[3], threads) || !parse(m[5], job.min_run_s) || !parse(m[6], job.limit_s) ||
      !parse(m[7], job.best_s) || !parse(m[9], poison)) {
    return false;
  }
  job.library = m[1];
  job.device = m[10];
  job.threads = static_cast<int>(threads);
  job.cold = m[4] == "cold";
  job.check = m[8] == "check";
  job.poison = static_cast<uint8_t>(poison);
  job.params.resize(m.size() - kFixed);
  for (size_t i = 0; i < job.params.size(); ++i) {
    if (!parse_param(m[kFixed + i], job.params[i])) return false;
  }
  return true;
}

std::vector<int64_t> offsets(const std::vector<Param>& params) {
  std::vector<int64_t> at = {0};
  for (const Param& p : params) at.push_back(at.back() + (p.bytes + 63) / 64 * 64);
  return at;
}

}  // namespace tenon::measure
