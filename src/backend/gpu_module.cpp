// SPDX-License-Identifier: Apache-2.0
#include "backend/gpu_module.h"

#include "support/check.h"

namespace tenon::backend {
namespace {

constexpr std::string_view kMagic = "tenon gpu module 2\n";

void put(std::string& out, int64_t v) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
}

void put(std::string& out, std::string_view text) {
  put(out, static_cast<int64_t>(text.size()));
  out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::string_view take(size_t count) {
    if (count > left_.size()) throw UserError("a module for GPUs ends too early");
    const std::string_view out = left_.substr(0, count);
    left_.remove_prefix(count);
    return out;
  }
  int64_t number() {
    const std::string_view bytes = take(8);
    uint64_t v = 0;
    for (size_t i = 0; i < 8; ++i) v |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return static_cast<int64_t>(v);
  }
  size_t count() {  // of things that take a byte at least
    const int64_t n = number();
    if (n < 0 || static_cast<uint64_t>(n) > left_.size()) {
      throw UserError("a module for GPUs has a wrong count");
    }
    return static_cast<size_t>(n);
  }
  std::string text() { return std::string(take(count())); }
  bool done() const { return left_.empty(); }

 private:
  std::string_view left_;
};

Launch read_launch(Reader& in) {
  Launch l;
  l.kernel = in.text();
  for (int64_t& g : l.grid) g = in.number();
  for (int64_t& b : l.block) b = in.number();
  l.shared_bytes = in.number();
  l.arguments.resize(in.count());
  for (int32_t& a : l.arguments) a = static_cast<int32_t>(in.number());
  l.early = in.number() != 0;
  return l;
}

}  // namespace

std::string to_bytes(const GpuModule& m) {
  std::string out(kMagic);
  put(out, static_cast<int64_t>(m.launches.size()));
  for (const Launch& l : m.launches) {
    put(out, l.kernel);
    for (const int64_t g : l.grid) put(out, g);
    for (const int64_t b : l.block) put(out, b);
    put(out, l.shared_bytes);
    put(out, static_cast<int64_t>(l.arguments.size()));
    for (const int32_t a : l.arguments) put(out, a);
    put(out, l.early ? 1 : 0);
  }
  put(out, m.workspace_bytes);
  put(out, m.ptx);
  put(out, m.image);
  return out;
}

GpuModule gpu_module_from(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) throw UserError("these bytes are not a module for GPUs");
  Reader in(bytes.substr(kMagic.size()));
  GpuModule m;
  m.launches.resize(in.count());
  for (Launch& l : m.launches) l = read_launch(in);
  m.workspace_bytes = in.number();
  m.ptx = in.text();
  m.image = in.text();
  if (!in.done()) throw UserError("a module for GPUs has bytes after its end");
  return m;
}

}  // namespace tenon::backend
