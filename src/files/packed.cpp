// SPDX-License-Identifier: Apache-2.0
#include "files/packed.h"

#include <zstd.h>

#include <memory>

#include "files/file.h"
#include "support/check.h"

namespace tenon::files {

namespace {

constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";
constexpr int kLevel = 12;  // records become a twentieth, at some 20 MB a second

struct FreeStream {
  void operator()(ZSTD_DStream* s) const { ZSTD_freeDStream(s); }
};

}  // namespace

std::string packed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t n = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  TENON_CHECK(ZSTD_isError(n) == 0) << ZSTD_getErrorName(n);
  out.resize(n);
  return out;
}

std::string unpacked(std::string_view bytes, const std::string& name) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(ZSTD_createDStream());
  TENON_CHECK(stream != nullptr);
  std::string out, block(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 1;  // 0: a frame is complete
  bool more = true;
  while (more) {
    ZSTD_outBuffer part{block.data(), block.size(), 0};
    left = ZSTD_decompressStream(stream.get(), &part, &in);
    if (ZSTD_isError(left) != 0) {
      throw UserError(name, 0, 0, std::string("damaged: ") + ZSTD_getErrorName(left));
    }
    out.append(block.data(), part.pos);
    more = in.pos < in.size || part.pos == part.size;
  }
  if (left != 0) throw UserError(name, 0, 0, "the packed file was cut off");
  return out;
}

std::string read_maybe_packed(const std::string& path) {
  std::string bytes = read_file(path);
  return bytes.starts_with(kMagic) ? unpacked(bytes, display_name(path)) : bytes;
}

void write_maybe_packed(const std::string& path, std::string_view bytes) {
  if (path.ends_with(".zst")) return write_file(path, packed(bytes));
  write_file(path, bytes);
}

}  // namespace tenon::files
