// SPDX-License-Identifier: Apache-2.0
#include "artifact/weights.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "runtime/model.h"

namespace tenon::artifact {
namespace {

std::vector<const Weight*> in_order(const Program& program) {
  std::vector<const Weight*> weights;
  weights.reserve(program.weights.size());
  for (const Weight& w : program.weights) {
    weights.push_back(&w);
  }
  std::sort(weights.begin(), weights.end(),
            [](const Weight* a, const Weight* b) { return a->offset < b->offset; });
  return weights;
}

class Writer {
 public:
  explicit Writer(std::ofstream& out) : out_(out) {}
  void write(const void* data, int64_t bytes) {
    out_.write(static_cast<const char*>(data), bytes);
    sha_.add(data, static_cast<size_t>(bytes));
    at_ += bytes;
  }
  void zeros_until(int64_t offset) {
    static constexpr char kZeros[4096] = {};
    TENON_CHECK(offset >= at_) << "weights overlap at " << offset;
    while (at_ < offset) {
      write(kZeros, std::min<int64_t>(offset - at_, sizeof kZeros));
    }
  }
  Sha256::Digest digest() const { return sha_.digest(); }

 private:
  std::ofstream& out_;
  Sha256 sha_;
  int64_t at_ = 0;
};

}  // namespace

Sha256::Digest write_weights(const Program& program, const std::filesystem::path& path) {
  if (program.weights_bytes == 0) {
    return {};
  }
  std::ofstream out(path, std::ios::binary);
  runtime::WeightsHeader header{};
  std::memcpy(header.magic, runtime::kWeightsMagic, sizeof header.magic);
  header.version = runtime::kWeightsVersion;
  header.bytes = program.weights_bytes;
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  Writer writer(out);
  for (const Weight* w : in_order(program)) {
    writer.zeros_until(w->offset);
    writer.write(w->data->data(), w->data->bytes());
  }
  writer.zeros_until(program.weights_bytes);
  const Sha256::Digest digest = writer.digest();
  std::copy(digest.begin(), digest.end(), header.sha256);
  out.seekp(0);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.close();
  if (!out) {
    throw UserError("cannot write " + path.string(), "is the disk full?");
  }
  return digest;
}

}  // namespace tenon::artifact
