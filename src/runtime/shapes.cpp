// SPDX-License-Identifier: Apache-2.0
#include "runtime/shapes.h"

#include <stdio.h>
#include <string.h>

#include "runtime/interface.h"
#include "runtime/sentence.h"

namespace tenon::runtime {
namespace {

// Text that ends where the sentence has no more place.
class Text {
 public:
  explicit Text(char* out) : out_(out) {}
  template <class... Args>
  void add(const char* format, Args... args) {
    const int wanted = snprintf(out_ + at_, kSentenceBytes - at_, format, args...);
    const size_t left = kSentenceBytes - 1 - at_;
    at_ += static_cast<size_t>(wanted) < left ? static_cast<size_t>(wanted) : left;
  }
  void add_text(const char* text) { add("%s", text); }

 private:
  char* out_;
  size_t at_ = 0;
};

long long wide(int64_t n) { return n; }

bool allows(const tenon_model_dim& dim, int64_t size) {
  int64_t low = 0;
  int64_t high = dim.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (dim.values[middle] < size) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < dim.count && dim.values[low] == size;
}

int32_t dim_of(const tenon_model_tensor& t, int32_t axis) {
  return t.dims != nullptr ? t.dims[axis] : -1;
}

// Null: the axis is not computed.
const tenon_model_sum* sum_of(const tenon_model_tensor& t, int32_t axis) {
  for (int64_t i = 0; i < tenon_model.sum_count; ++i) {
    const tenon_model_sum& sum = tenon_model.sums[i];
    if (&tenon_model.inputs[sum.input] == &t && sum.axis == axis) {
      return &sum;
    }
  }
  return nullptr;
}

// Whether a size lies between the least and the most that dimensions give, where those that the shape shows are as they
// are there.
bool can_be(const tenon_model_sum& sum, const tenon_model_tensor& t, const int64_t* shape) {
  int64_t least = sum.constant;
  int64_t most = sum.constant;
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    int64_t low = tenon_model.dims[d].values[0];
    int64_t high = tenon_model.dims[d].values[tenon_model.dims[d].count - 1];
    for (int32_t a = 0; a < t.rank; ++a) {
      if (dim_of(t, a) == d) {
        low = high = shape[a];
      }
    }
    const int64_t factor = sum.factors[d];
    least += factor * (factor > 0 ? low : high);
    most += factor * (factor > 0 ? high : low);
  }
  return least <= shape[sum.axis] && shape[sum.axis] <= most;
}

bool fits(const tenon_model_tensor& t, const int64_t* shape, int32_t rank) {
  if (rank != t.rank) {
    return false;
  }
  for (int32_t a = 0; a < rank; ++a) {
    if (const tenon_model_sum* sum = sum_of(t, a); sum != nullptr) {
      if (!can_be(*sum, t, shape)) {
        return false;
      }
      continue;
    }
    const int32_t dim = dim_of(t, a);
    if (dim < 0 ? shape[a] != t.shape[a] : !allows(tenon_model.dims[dim], shape[a])) {
      return false;
    }
    for (int32_t b = 0; dim >= 0 && b < a; ++b) {
      if (dim_of(t, b) == dim && shape[b] != shape[a]) {
        return false;
      }
    }
  }
  return true;
}

// "1..8", or "1, 2, 4"; long lists are cut.
void add_values(Text& text, const tenon_model_dim& dim) {
  constexpr int64_t kShown = 12;
  const int64_t first = dim.values[0];
  const int64_t last = dim.values[dim.count - 1];
  const int64_t step = dim.count > 1 ? dim.values[1] - first : 1;
  bool even = dim.count > 2;
  for (int64_t i = 1; even && i < dim.count; ++i) {
    even = dim.values[i] - dim.values[i - 1] == step;
  }
  if (even) {
    text.add("%lld..%lld", wide(first), wide(last));
    if (step != 1) {
      text.add(" in steps of %lld", wide(step));
    }
    return;
  }
  for (int64_t i = 0; i < dim.count; ++i) {
    if (i == kShown && dim.count > kShown + 1) {
      text.add(" ... %lld", wide(last));
      return;
    }
    text.add(i == 0 ? "%lld" : ", %lld", wide(dim.values[i]));
  }
}

void add_pattern(Text& text, const tenon_model_tensor& t) {
  for (int32_t a = 0; a < t.rank; ++a) {
    const int32_t dim = dim_of(t, a);
    text.add_text(a == 0 ? "" : " x ");
    if (const tenon_model_sum* sum = sum_of(t, a); sum != nullptr) {
      text.add("(%s)", sum->text);
    } else if (dim < 0) {
      text.add("%lld", wide(t.shape[a]));
    } else {
      text.add_text(tenon_model.dims[dim].name);
    }
  }
  const char* word = ", where ";
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    bool used = false;
    for (int32_t a = 0; a < t.rank; ++a) {
      const tenon_model_sum* sum = sum_of(t, a);
      used = used || dim_of(t, a) == d || (sum != nullptr && sum->factors[d] != 0);
    }
    if (used) {
      text.add("%s%s is ", word, tenon_model.dims[d].name);
      add_values(text, tenon_model.dims[d]);
      word = " and ";
    }
  }
}

void explain(const tenon_model_tensor& t, const int64_t* shape, int32_t rank, char* sentence) {
  Text text(sentence);
  text.add("input '%s' takes ", t.name);
  add_pattern(text, t);
  text.add_text(": not ");
  for (int32_t a = 0; a < rank; ++a) {
    text.add(a == 0 ? "%lld" : " x %lld", wide(shape[a]));
  }
  if (rank == 0) {
    text.add_text("a scalar");
  }
}

}  // namespace

bool read_sizes(int32_t input, const int64_t* shape, int32_t rank, int64_t* sizes, char* sentence) {
  if (input < 0 || input >= tenon_model.input_count) {
    snprintf(sentence, kSentenceBytes, "there is no input %d: the model has %d", input,
             tenon_model.input_count);
    return false;
  }
  const tenon_model_tensor& t = tenon_model.inputs[input];
  if (!fits(t, shape, rank)) {
    explain(t, shape, rank, sentence);
    return false;
  }
  for (int32_t a = 0; a < rank; ++a) {
    if (dim_of(t, a) >= 0) {
      sizes[dim_of(t, a)] = shape[a];
    }
  }
  return true;
}

int64_t size_of(const tenon_model_sum& sum, const int64_t* sizes) {
  int64_t size = sum.constant;
  for (int32_t d = 0; d < tenon_model.dim_count; ++d) {
    size += sum.factors[d] * sizes[d];
  }
  return size;
}

int refuse_shape(const char* sentence, const char** why) {
  tell_why(sentence, why);
  return kRefusedShape;
}

}  // namespace tenon::runtime
