// SPDX-License-Identifier: Apache-2.0
#include "artifact/weights.h"

#include <algorithm>
#include <cstring>

#include "runtime/checksum.h"
#include "runtime/model.h"
#include "support/check.h"
#include "support/output_file.h"

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
  explicit Writer(OutputFile& out) : out_(out) {}
  void write(const void* data, int64_t bytes) {
    out_.write({static_cast<const char*>(data), static_cast<size_t>(bytes)});
    sha_.add(data, static_cast<size_t>(bytes));
    sum_up(static_cast<const char*>(data), static_cast<size_t>(bytes));
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
  uint64_t checksum() const {
    return sum_ +
           (chunk_.empty() ? 0 : runtime::chunk_checksum(chunks_, chunk_.data(), chunk_.size()));
  }
  int64_t bytes() const { return at_; }

 private:
  void sum_up(const char* data, size_t bytes) {
    while (bytes > 0) {
      const size_t taken = std::min(bytes, runtime::kChecksumChunk - chunk_.size());
      chunk_.insert(chunk_.end(), data, data + taken);
      data += taken;
      bytes -= taken;
      if (chunk_.size() == runtime::kChecksumChunk) {
        sum_ += runtime::chunk_checksum(chunks_++, chunk_.data(), chunk_.size());
        chunk_.clear();
      }
    }
  }

  OutputFile& out_;
  Sha256 sha_;
  std::vector<char> chunk_;  // not yet summed up
  uint64_t chunks_ = 0;
  uint64_t sum_ = 0;
  int64_t at_ = 0;
};

}  // namespace

WrittenWeights write_weights(const Program& program, const std::filesystem::path& path,
                             const std::string& shown) {
  WrittenWeights written;
  if (program.weights_bytes == 0) {
    return written;
  }
  OutputFile out = OutputFile::create(path, shown);
  Writer writer(out);
  for (const Weight* w : in_order(program)) {
    writer.zeros_until(w->offset);
    writer.write(w->data->data(), w->data->bytes());
  }
  writer.zeros_until(align_up(program.weights_bytes));
  written.sha256 = writer.digest();
  written.checksum = writer.checksum();
  runtime::WeightsTrailer trailer{};
  std::memcpy(trailer.magic, runtime::kWeightsMagic, sizeof trailer.magic);
  trailer.version = runtime::kWeightsVersion;
  trailer.bytes = writer.bytes();
  std::copy(written.sha256.begin(), written.sha256.end(), trailer.sha256);
  writer.write(&trailer, sizeof trailer);
  written.file_sha256 = writer.digest();
  written.file_bytes = writer.bytes();
  out.close();
  return written;
}

}  // namespace tenon::artifact
