// SPDX-License-Identifier: Apache-2.0
#include "files/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "support/check.h"

namespace tenon::files {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kMaxComment = 65535;
constexpr uint32_t kMax32 = 0xffffffff;
constexpr uint16_t kStoredMethod = 0;
constexpr uint16_t kDeflatedMethod = 8;
constexpr uint16_t kEncryptedFlag = 1;
constexpr uint16_t kUtf8Flag = 1 << 11;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kDate1980 = 33;
// Deflate cannot shrink by more: whatever claims more is made to exhaust memory.
constexpr uint64_t kMaxRatio = 1032;

struct Entry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint32_t packed = 0;
  uint32_t size = 0;
  uint32_t local_at = 0;
};

class ZipReader {
 public:
  ZipReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::vector<ZipMember> members() const {
    const size_t end = find_end();
    const uint16_t count = u16(end + 10);
    if (u16(end + 4) != 0 || u16(end + 8) != count) {
      fail(end, "archives in several parts are not supported");
    }
    size_t at = u32(end + 16);
    if (at == kMax32) {
      fail(end, "archives beyond 4 GiB are not supported; use .npy files");
    }
    std::vector<ZipMember> members;
    uint64_t total = 0;
    for (uint16_t i = 0; i < count; ++i) {
      const Entry entry = read_entry(at);
      total += entry.size;
      members.push_back({entry.name, unpack(entry, total)});
    }
    return members;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& message) const {
    throw UserError(name_, 0, 0, fmt::format("byte {}: {}", at, message));
  }
  void need(size_t at, uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) {
      fail(at, fmt::format("{} bytes expected, the file ends after {}", count, bytes_.size()));
    }
  }
  uint32_t u32(size_t at) const { return u16(at) | static_cast<uint32_t>(u16(at + 2)) << 16; }
  uint16_t u16(size_t at) const {
    need(at, 2);
    return static_cast<uint16_t>(static_cast<unsigned char>(bytes_[at]) |
                                 static_cast<unsigned char>(bytes_[at + 1]) << 8);
  }

  // The last record of the file, in front of a comment of unknown length.
  size_t find_end() const {
    if (bytes_.size() < kEndBytes) {
      fail(0, "this is no .npz file: too short for a zip archive");
    }
    const size_t last = bytes_.size() - kEndBytes;
    const size_t first = last > kMaxComment ? last - kMaxComment : 0;
    for (size_t at = last + 1; at-- > first;) {
      if (u32(at) == kEndSignature && at + kEndBytes + u16(at + 20) == bytes_.size()) {
        return at;
      }
    }
    fail(bytes_.size(), "this is no .npz file: no directory of a zip archive at its end");
  }

  Entry read_entry(size_t& at) const {
    need(at, kCentralBytes);
    if (u32(at) != kCentralSignature) {
      fail(at, "an entry of the directory expected");
    }
    Entry entry{.name = {},
                .flags = u16(at + 8),
                .method = u16(at + 10),
                .crc = u32(at + 16),
                .packed = u32(at + 20),
                .size = u32(at + 24),
                .local_at = u32(at + 42)};
    const uint16_t name_bytes = u16(at + 28);
    need(at + kCentralBytes, name_bytes);
    entry.name = bytes_.substr(at + kCentralBytes, name_bytes);
    if (entry.packed == kMax32 || entry.size == kMax32 || entry.local_at == kMax32) {
      fail(at, "members beyond 4 GiB are not supported; use .npy files");
    }
    at += kCentralBytes + name_bytes + u16(at + 30) + u16(at + 32);
    return entry;
  }

  std::string unpack(const Entry& entry, uint64_t total) const {
    const size_t local = entry.local_at;
    need(local, kLocalBytes);
    if (u32(local) != kLocalSignature) {
      fail(local, fmt::format("no member '{}' here", entry.name));
    }
    if ((entry.flags & kEncryptedFlag) != 0) {
      fail(local, fmt::format("member '{}' is encrypted", entry.name));
    }
    const size_t begin = local + kLocalBytes + u16(local + 26) + u16(local + 28);
    need(begin, entry.packed);
    // Members may not share their bytes either, or a small file could still grow without bound.
    if (total > kMaxRatio * bytes_.size()) {
      fail(local, fmt::format("member '{}' claims {} bytes, more than the file can hold",
                              entry.name, entry.size));
    }
    std::string out = decode(entry, bytes_.substr(begin, entry.packed), local);
    const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
    if (crc != entry.crc) {
      fail(local, fmt::format("the checksum of member '{}' is wrong", entry.name));
    }
    return out;
  }

  std::string decode(const Entry& entry, std::string_view packed, size_t at) const {
    if (entry.method == kStoredMethod) {
      if (entry.packed != entry.size) {
        fail(at, fmt::format("member '{}' is stored in {} bytes but claims {}", entry.name,
                             entry.packed, entry.size));
      }
      return std::string(packed);
    }
    if (entry.method != kDeflatedMethod) {
      fail(at, fmt::format("member '{}' is packed with method {}; stored and deflated are known",
                           entry.name, entry.method));
    }
    if (entry.size > kMaxRatio * (uint64_t{entry.packed} + 1)) {
      fail(at, fmt::format("member '{}' claims {} bytes, more than it can hold", entry.name,
                           entry.size));
    }
    return inflate_all(entry, packed, at);
  }

  std::string inflate_all(const Entry& entry, std::string_view packed, size_t at) const {
    std::string out(entry.size, '\0');
    char spare = 0;  // zlib wants room even for nothing
    z_stream stream{};
    TENON_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.empty() ? &spare : out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    const size_t written = stream.total_out;
    inflateEnd(&stream);
    if (status != Z_STREAM_END || written != out.size()) {
      fail(at, fmt::format("member '{}' cannot be unpacked", entry.name));
    }
    return out;
  }

  std::string_view bytes_;
  const std::string& name_;
};

void put16(std::string& out, size_t v) {
  out.push_back(static_cast<char>(v & 0xff));
  out.push_back(static_cast<char>(v >> 8 & 0xff));
}

void put32(std::string& out, size_t v) {
  put16(out, v & 0xffff);
  put16(out, v >> 16);
}

std::string deflate_all(std::string_view bytes) {
  z_stream stream{};
  TENON_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  TENON_CHECK(status == Z_STREAM_END) << "deflate ended with " << status;
  return out;
}

// What the local header and the directory have in common, from the version on.
void put_common(std::string& out, const Entry& entry) {
  put16(out, kVersion);
  put16(out, kUtf8Flag);
  put16(out, entry.method);
  put16(out, 0);
  put16(out, kDate1980);
  put32(out, entry.crc);
  put32(out, entry.packed);
  put32(out, entry.size);
  put16(out, entry.name.size());
  put16(out, 0);  // extra field
}

void put_directory(std::string& out, const std::vector<Entry>& entries) {
  const size_t begin = out.size();
  for (const Entry& entry : entries) {
    put32(out, kCentralSignature);
    put16(out, kVersion);
    put_common(out, entry);
    put16(out, 0);  // comment
    put16(out, 0);  // part
    put16(out, 0);  // attributes
    put32(out, 0);
    put32(out, entry.local_at);
    out += entry.name;
  }
  const size_t bytes = out.size() - begin;
  put32(out, kEndSignature);
  put16(out, 0);
  put16(out, 0);
  put16(out, entries.size());
  put16(out, entries.size());
  put32(out, bytes);
  put32(out, begin);
  put16(out, 0);
}

[[noreturn]] void too_large() {
  throw UserError("the arrays are too large for one .npz file, which holds 4 GiB",
                  "write .npy files");
}

}  // namespace

std::vector<ZipMember> parse_zip(std::string_view bytes, const std::string& name) {
  return ZipReader(bytes, name).members();
}

std::string zip_bytes(const std::vector<ZipMember>& members, Compression compression) {
  std::string out;
  std::vector<Entry> entries;
  for (const ZipMember& member : members) {
    const auto* data = reinterpret_cast<const Bytef*>(member.bytes.data());
    Entry entry;
    entry.name = member.name;
    entry.crc = static_cast<uint32_t>(crc32_z(0, data, member.bytes.size()));
    std::string packed;
    std::string_view body = member.bytes;
    const bool fits = body.size() < kMax32 && out.size() < kMax32 - body.size();
    if (!fits || members.size() > UINT16_MAX) too_large();
    if (member.name.size() > UINT16_MAX) {
      throw UserError(fmt::format("the name of an array has {} bytes; .npz files hold names of {}",
                                  member.name.size(), UINT16_MAX),
                      "write .npy files");
    }
    if (compression == Compression::kDeflated) {
      packed = deflate_all(body);
      entry.method = kDeflatedMethod;
      body = packed;
    }
    entry.packed = static_cast<uint32_t>(body.size());
    entry.size = static_cast<uint32_t>(member.bytes.size());
    entry.local_at = static_cast<uint32_t>(out.size());
    put32(out, kLocalSignature);
    put_common(out, entry);
    out += entry.name;
    out += body;
    entries.push_back(std::move(entry));
  }
  put_directory(out, entries);
  if (out.size() > kMax32) too_large();
  return out;
}

}  // namespace tenon::files
