// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>

#include "onnx/limits.h"
#include "support/check.h"

namespace tenon::onnx {
namespace {

using google::protobuf::io::CodedInputStream;
using Wire = google::protobuf::internal::WireFormatLite;

enum class Kind : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kElement,
  kDim,
  kFunction,
  kTraining,
  kSmall,
  kText,
  kNumbers,
};

// What one message of a kind costs when parsed. kText: a string or bytes. kNumbers: packed numbers, where
// one byte may become eight.
constexpr int64_t kOverhead = 48;  // the allocator's and the pointer to it

int64_t cost(Kind kind) {
  switch (kind) {
    case Kind::kModel:
      return sizeof(proto::ModelProto) + kOverhead;
    case Kind::kGraph:
      return sizeof(proto::GraphProto) + kOverhead;
    case Kind::kNode:
      return sizeof(proto::NodeProto) + kOverhead;
    case Kind::kAttribute:
      return sizeof(proto::AttributeProto) + kOverhead;
    case Kind::kTensor:
      return sizeof(proto::TensorProto) + kOverhead;
    case Kind::kFunction:
      return sizeof(proto::FunctionProto) + kOverhead;
    case Kind::kText:
      return sizeof(std::string) + kOverhead;
    case Kind::kNumbers:
      return 0;
    default:
      return 128 + kOverhead;
  }
}

struct Edge {
  Kind parent;
  int field;
  Kind child;
};

// Where messages, texts and packed numbers sit in each other (onnx.proto).
constexpr Edge kEdges[] = {
    {Kind::kModel, 7, Kind::kGraph},       {Kind::kModel, 8, Kind::kSmall},
    {Kind::kModel, 14, Kind::kSmall},      {Kind::kModel, 20, Kind::kTraining},
    {Kind::kModel, 25, Kind::kFunction},   {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 5, Kind::kTensor},      {Kind::kGraph, 15, Kind::kSparse},
    {Kind::kGraph, 11, Kind::kValueInfo},  {Kind::kGraph, 12, Kind::kValueInfo},
    {Kind::kGraph, 13, Kind::kValueInfo},  {Kind::kGraph, 14, Kind::kSmall},
    {Kind::kNode, 1, Kind::kText},         {Kind::kNode, 2, Kind::kText},
    {Kind::kNode, 5, Kind::kAttribute},    {Kind::kAttribute, 4, Kind::kText},
    {Kind::kAttribute, 5, Kind::kTensor},  {Kind::kAttribute, 6, Kind::kGraph},
    {Kind::kAttribute, 7, Kind::kNumbers}, {Kind::kAttribute, 8, Kind::kNumbers},
    {Kind::kAttribute, 9, Kind::kText},    {Kind::kAttribute, 10, Kind::kTensor},
    {Kind::kAttribute, 11, Kind::kGraph},  {Kind::kAttribute, 14, Kind::kType},
    {Kind::kAttribute, 15, Kind::kType},   {Kind::kAttribute, 22, Kind::kSparse},
    {Kind::kAttribute, 23, Kind::kSparse}, {Kind::kTensor, 1, Kind::kNumbers},
    {Kind::kTensor, 4, Kind::kNumbers},    {Kind::kTensor, 5, Kind::kNumbers},
    {Kind::kTensor, 6, Kind::kText},       {Kind::kTensor, 7, Kind::kNumbers},
    {Kind::kTensor, 10, Kind::kNumbers},   {Kind::kTensor, 11, Kind::kNumbers},
    {Kind::kTensor, 13, Kind::kSmall},     {Kind::kSparse, 1, Kind::kTensor},
    {Kind::kSparse, 2, Kind::kTensor},     {Kind::kSparse, 3, Kind::kNumbers},
    {Kind::kValueInfo, 2, Kind::kType},    {Kind::kType, 1, Kind::kTensorType},
    {Kind::kType, 8, Kind::kTensorType},   {Kind::kType, 4, Kind::kElement},
    {Kind::kType, 9, Kind::kElement},      {Kind::kElement, 1, Kind::kType},
    {Kind::kType, 5, Kind::kElement},      {Kind::kElement, 2, Kind::kType},
    {Kind::kTensorType, 2, Kind::kShape},  {Kind::kShape, 1, Kind::kDim},
    {Kind::kFunction, 4, Kind::kText},     {Kind::kFunction, 5, Kind::kText},
    {Kind::kFunction, 6, Kind::kText},     {Kind::kFunction, 7, Kind::kNode},
    {Kind::kFunction, 9, Kind::kSmall},    {Kind::kTraining, 1, Kind::kGraph},
    {Kind::kTraining, 2, Kind::kGraph},    {Kind::kTraining, 3, Kind::kSmall},
    {Kind::kTraining, 4, Kind::kSmall},
};

const Edge* edge(Kind parent, int field) {
  const auto* e = std::find_if(std::begin(kEdges), std::end(kEdges), [&](const Edge& x) {
    return x.parent == parent && x.field == field;
  });
  return e == std::end(kEdges) ? nullptr : e;
}

// Adds up what parsing allocates beyond the bytes of texts. Stops where the parser would stop.
class Estimate {
 public:
  explicit Estimate(CodedInputStream& in) : in_(in) {}

  bool add(Kind kind, int depth) {
    total_ += cost(kind);
    if (total_ > kMaxParsedExtra) throw UserError("the file holds too many small parts");
    if (depth > 100) return false;
    while (const uint32_t tag = in_.ReadTag()) {
      if (!field(kind, tag, depth)) return false;
    }
    return true;
  }

 private:
  bool field(Kind kind, uint32_t tag, int depth) {
    if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
      total_ += 16;  // an unknown one takes that much
      return Wire::SkipField(&in_, tag);
    }
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > static_cast<uint32_t>(kMaxFileBytes)) return false;
    const Edge* e = edge(kind, Wire::GetTagFieldNumber(tag));
    if (!e || e->child == Kind::kText || e->child == Kind::kNumbers) {
      total_ += e ? cost(e->child) : kOverhead;
      if (e && e->child == Kind::kNumbers) total_ += int64_t{8} * length;
      return in_.Skip(static_cast<int>(length));
    }
    const auto limit = in_.PushLimit(static_cast<int>(length));
    const bool fine = add(e->child, depth + 1) && in_.BytesUntilLimit() == 0;
    in_.PopLimit(limit);
    return fine;
  }

  CodedInputStream& in_;
  int64_t total_ = 0;
};

template <class Message>
Message parse(std::string_view bytes, Kind kind, std::string_view what) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (static_cast<int64_t>(bytes.size()) > kMaxFileBytes) {
    throw UserError("more than 2 GiB: keep the weights in external data files");
  }
  const int size = static_cast<int>(bytes.size());
  CodedInputStream measure(data, size);
  measure.SetTotalBytesLimit(size);
  Estimate(measure).add(kind, 0);
  CodedInputStream in(data, size);
  in.SetTotalBytesLimit(size);
  Message m;
  if (!m.ParsePartialFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    throw UserError(fmt::format("not {}, or damaged", what));
  }
  return m;
}

}  // namespace

FileBytes::FileBytes(size_t size) : size_(size) {
  if (size == 0) return;
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  madvise(p, size, MADV_HUGEPAGE);  // a wish
  data_ = static_cast<char*>(p);
}

FileBytes::~FileBytes() {
  if (data_ != nullptr) munmap(data_, size_);
}

FileBytes read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw UserError(path, 0, 0, "no such file");
  if (!std::filesystem::is_regular_file(path, error)) throw UserError(path, 0, 0, "not a file");
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw UserError(path, 0, 0, error.message());
  if (size > static_cast<uintmax_t>(kMaxFileBytes)) {
    throw UserError(path, 0, 0, "more than 2 GiB", "keep the weights in external data files");
  }
  FileBytes bytes(static_cast<size_t>(size));
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!in) throw UserError(path, 0, 0, "cannot be read");
  return bytes;
}

proto::ModelProto parse_model(std::string_view bytes) {
  proto::ModelProto m = parse<proto::ModelProto>(bytes, Kind::kModel, "an ONNX model");
  if (!m.has_graph()) throw UserError("not an ONNX model: it has no graph");
  return m;
}

proto::AttributeProto parse_attribute(std::string_view bytes) {
  return parse<proto::AttributeProto>(bytes, Kind::kAttribute, "an ONNX attribute");
}

proto::TensorProto parse_tensor(std::string_view bytes) {
  return parse<proto::TensorProto>(bytes, Kind::kTensor, "an ONNX tensor");
}

}  // namespace tenon::onnx
