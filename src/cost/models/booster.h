// SPDX-License-Identifier: Apache-2.0
// XGBoost's trees, one at a time: whoever grows them brings the gradients. XGBoost's own threads
// are never used: ten thousand samples take one thread about a second, several would mostly wait
// for each other at every node of a tree, and their pool would survive neither a fork nor a thread
// sanitizer.
//
//   Matrix data(values, width);
//   Booster b({parameters, width, seed}, &data, "");
//   b.grow(data, first, second);                      // one more tree
//   b.predict(values, scores);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon::cost {

// Rows as XGBoost keeps them. It has no missing values.
class Matrix {
 public:
  Matrix(std::span<const float> values, uint32_t width);
  void* handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(void* m) const;
  };
  std::unique_ptr<void, Free> handle_;
};

struct Parameter {
  const char* name;
  const char* value;
};

// How trees are grown. What all boosters share (one thread, no score to begin with) is not among
// the parameters.
struct Growing {
  std::span<const Parameter> parameters;
  uint32_t width = 0;
  uint64_t seed = 0;
};

class Booster {
 public:
  // Begins with these trees; empty: none. Throws UserError if they are not trees. `data` is what
  // more trees will be grown on; null: none will.
  Booster(const Growing& growing, const Matrix* data, const std::string& trees);

  // One more tree. A row whose both gradients are 0 has no part in it.
  void grow(const Matrix& data, std::span<float> first, std::span<float> second);
  // Of the rows that it is grown on; valid until the next call.
  std::span<const float> fitted(const Matrix& data) const;
  // Of rows, one number each. Safe to call from several threads once `settle` was.
  void predict(std::span<const float> values, std::span<float> out) const;
  // A booster configures itself in its first prediction; after that predicting changes nothing in
  // it.
  void settle() const;
  std::string trees() const;
  uint32_t width() const { return width_; }

 private:
  void set_parameters(const Growing& growing);

  struct Free {
    void operator()(void* b) const;
  };
  uint32_t width_;
  std::unique_ptr<void, Free> handle_;
};

}  // namespace tenon::cost
