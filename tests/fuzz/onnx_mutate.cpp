// SPDX-License-Identifier: Apache-2.0
#include "fuzz/onnx_mutate.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "onnx/proto.h"

namespace tenon::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

size_t below(Rng& rng, size_t n) {
  return static_cast<size_t>(rng.between(0, static_cast<int64_t>(n) - 1));
}

// ---- bytes ------------------------------------------------------------------------------------

std::string mutate_bytes(std::string s, const std::string& other, Rng& rng) {
  if (s.empty()) return s;
  const size_t at = below(rng, s.size());
  const size_t length = std::min(s.size() - at, 1 + below(rng, 16));
  switch (rng.between(0, 5)) {
    case 0:
      s[at] = static_cast<char>(s[at] ^ (1 << rng.between(0, 7)));
      break;
    case 1:
      s[at] = static_cast<char>(rng.next());
      break;
    case 2:
      s.resize(at);
      break;
    case 3:
      s.erase(at, length);
      break;
    case 4:
      s.insert(below(rng, s.size()), s.substr(at, length));
      break;
    default:
      if (!other.empty()) s.replace(at, length, other.substr(below(rng, other.size()), length));
  }
  return s;
}

// ---- messages ---------------------------------------------------------------------------------

// Every message of the tree, so that one can be drawn.
void collect(Message* m, std::vector<Message*>& all) {
  all.push_back(m);
  const Reflection* r = m->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(*m, &fields);
  for (const FieldDescriptor* f : fields) {
    if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!f->is_repeated()) {
      collect(r->MutableMessage(m, f), all);
      continue;
    }
    for (int i = 0; i < r->FieldSize(*m, f); ++i) collect(r->MutableRepeatedMessage(m, f, i), all);
  }
}

void collect_strings(const Message& m, std::vector<std::string>& all) {
  const Reflection* r = m.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(m, &fields);
  for (const FieldDescriptor* f : fields) {
    if (f->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
    if (!f->is_repeated()) {
      all.push_back(r->GetString(m, f));
      continue;
    }
    for (int i = 0; i < r->FieldSize(m, f); ++i) all.push_back(r->GetRepeatedString(m, f, i));
  }
}

int64_t odd_int(int64_t old, Rng& rng) {
  static const std::vector<int64_t> kOdd = {0,
                                            1,
                                            -1,
                                            2,
                                            3,
                                            7,
                                            13,
                                            1000,
                                            65537,
                                            int64_t{1} << 31,
                                            (int64_t{1} << 31) - 1,
                                            -(int64_t{1} << 31),
                                            int64_t{1} << 40,
                                            int64_t{1} << 62,
                                            std::numeric_limits<int64_t>::max(),
                                            std::numeric_limits<int64_t>::min()};
  if (rng.chance(0.4)) return static_cast<int64_t>(static_cast<uint64_t>(old) + rng.next() % 5 - 2);
  return rng.pick(kOdd);
}

double odd_float(double old, Rng& rng) {
  static const std::vector<double> kOdd = {
      0, -0.0, 1, -1, 1e-30, 1e30, 0.5, std::numeric_limits<double>::infinity(), std::nan("")};
  return rng.chance(0.3) ? old * 1.5 : rng.pick(kOdd);
}

struct Draw {
  Rng& rng;
  const std::vector<std::string>& strings;  // of the whole model
  const std::vector<Message*>& messages;    // of this model and another one

  const Message* like(const Message& m) const {
    std::vector<const Message*> same;
    for (const Message* other : messages) {
      if (other->GetDescriptor() == m.GetDescriptor() && other != &m) same.push_back(other);
    }
    return same.empty() ? nullptr : rng.pick(same);
  }
};

void change_number(Message* m, const FieldDescriptor* f, int i, const Draw& d) {
  const Reflection* r = m->GetReflection();
  const bool many = f->is_repeated();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const int64_t old = many ? r->GetRepeatedInt32(*m, f, i) : r->GetInt32(*m, f);
      const auto v = static_cast<int32_t>(odd_int(old, d.rng));
      many ? r->SetRepeatedInt32(m, f, i, v) : r->SetInt32(m, f, v);
      break;
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t v = odd_int(many ? r->GetRepeatedInt64(*m, f, i) : r->GetInt64(*m, f), d.rng);
      many ? r->SetRepeatedInt64(m, f, i, v) : r->SetInt64(m, f, v);
      break;
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const float old = many ? r->GetRepeatedFloat(*m, f, i) : r->GetFloat(*m, f);
      const auto v = static_cast<float>(odd_float(static_cast<double>(old), d.rng));
      many ? r->SetRepeatedFloat(m, f, i, v) : r->SetFloat(m, f, v);
      break;
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto v = static_cast<int>(d.rng.between(0, 16));
      if (!many && f->enum_type()->FindValueByNumber(v)) r->SetEnumValue(m, f, v);
      break;
    }
    default:
      break;
  }
}

void change_string(Message* m, const FieldDescriptor* f, int i, const Draw& d) {
  const Reflection* r = m->GetReflection();
  std::string s = f->is_repeated() ? r->GetRepeatedString(*m, f, i) : r->GetString(*m, f);
  if (d.rng.chance(0.7) && !d.strings.empty()) {
    s = d.rng.pick(d.strings);
  } else if (d.rng.chance(0.5)) {
    s.clear();
  } else {
    s = mutate_bytes(s, s, d.rng);
  }
  f->is_repeated() ? r->SetRepeatedString(m, f, i, s) : r->SetString(m, f, s);
}

void change_list(Message* m, const FieldDescriptor* f, const Draw& d) {
  const Reflection* r = m->GetReflection();
  const int n = r->FieldSize(*m, f);
  const auto at = static_cast<int>(d.rng.between(0, n - 1));
  if (d.rng.chance(0.4)) {
    r->SwapElements(m, f, at, static_cast<int>(d.rng.between(0, n - 1)));
  } else if (d.rng.chance(0.5)) {
    r->RemoveLast(m, f);
  } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& one = r->GetRepeatedMessage(*m, f, at);
    const Message* other = d.like(one);
    const std::unique_ptr<Message> copy(one.New());
    copy->CopyFrom(other && d.rng.chance(0.5) ? *other : one);
    r->AddMessage(m, f)->CopyFrom(*copy);
  } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    r->AddInt64(m, f, odd_int(r->GetRepeatedInt64(*m, f, at), d.rng));
  } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    r->AddString(m, f, d.strings.empty() ? "" : d.rng.pick(d.strings));
  }
}

void change_field(Message* m, const FieldDescriptor* f, const Draw& d) {
  const Reflection* r = m->GetReflection();
  const bool many = f->is_repeated();
  if (d.rng.chance(0.08)) return r->ClearField(m, f);
  if (many && d.rng.chance(0.4)) return change_list(m, f, d);
  const int at = many ? static_cast<int>(d.rng.between(0, r->FieldSize(*m, f) - 1)) : 0;
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* one = many ? r->MutableRepeatedMessage(m, f, at) : r->MutableMessage(m, f);
    const Message* other = d.like(*one);
    if (!other) return;
    const std::unique_ptr<Message> copy(other->New());  // `other` may lie inside `one`
    copy->CopyFrom(*other);
    return one->CopyFrom(*copy);
  }
  if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return change_string(m, f, at, d);
  change_number(m, f, at, d);
}

std::string mutate_messages(const std::string& model, const std::string& other, Rng& rng) {
  onnx::proto::ModelProto m, donor;
  if (!m.ParsePartialFromString(model)) return model;
  const bool has_donor = rng.chance(0.2) && donor.ParsePartialFromString(other);
  for (int64_t changes = rng.between(1, 3); changes > 0; --changes) {
    std::vector<Message*> own, all;
    collect(&m, own);
    all = own;
    if (has_donor) collect(&donor, all);
    std::vector<std::string> strings;
    for (const Message* one : own) collect_strings(*one, strings);
    Message* target = rng.pick(own);
    std::vector<const FieldDescriptor*> fields;
    target->GetReflection()->ListFields(*target, &fields);
    if (!fields.empty()) change_field(target, rng.pick(fields), {rng, strings, all});
    if (m.ByteSizeLong() > (size_t{1} << 20)) return model;  // copies of copies
  }
  return m.SerializePartialAsString();
}

}  // namespace

std::string mutate_model(const std::string& model, const std::vector<std::string>& others,
                         Rng& rng) {
  if (rng.chance(0.75)) return mutate_messages(model, rng.pick(others), rng);
  std::string s = model;
  for (int64_t n = rng.between(1, 4); n > 0; --n) s = mutate_bytes(s, rng.pick(others), rng);
  return s;
}

}  // namespace tenon::fuzz
