// SPDX-License-Identifier: Apache-2.0
// tenon_model from C++17: what tenon_model.h declares, as a class that owns its context.
//
//   tenon_model_model model;                              // a thread per core; throws std::runtime_error with a sentence
//   std::vector<float> x = model.make_input<float>(0);
//   std::vector<float> y = model.make_output<float>(0);
//   model.run({x}, {y});
//
// One object per thread. Memory is the caller's: vectors, arrays and spans are used in place where they are aligned to 64
// bytes, and copied otherwise.
#ifndef TENON_MODEL_HPP
#define TENON_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon_model.h"

class tenon_model_model {
 public:
  // Memory of a tensor: anything with data() and size(), such as a vector, an array or a span of numbers.
  template <class Pointer>
  class Buffer {
   public:
    template <class Container, class = decltype(std::declval<Container&>().data()),
              class = decltype(std::declval<Container&>().size())>
    Buffer(Container&& c)
        : data_(c.data()),
          count_(c.size()),
          bytes_(c.size() * sizeof(*c.data())),
          type_(type_of<std::remove_cv_t<std::remove_reference_t<decltype(*c.data())>>>()) {}
    Pointer data() const { return data_; }
    std::size_t count() const { return count_; }
    std::size_t bytes() const { return bytes_; }
    const char* type() const { return type_; }

   private:
    Pointer data_;
    std::size_t count_, bytes_;
    const char* type_;
  };
  using Input = Buffer<const void*>;
  using Output = Buffer<void*>;

  // Throws std::runtime_error with the library's sentence. 0: a thread per core.
  explicit tenon_model_model(std::int32_t threads = 0) : tenon_model_model(with_threads(threads)) {}
  // The size is filled in.
  explicit tenon_model_model(tenon_model_options options) {
    const char* why = "";
    options.size = sizeof options;
    ctx_.reset(tenon_model_create_with(&options, &why));
    if (ctx_ == nullptr) throw std::runtime_error(why);
  }

  // Throws std::invalid_argument where buffers do not fit the tensors as they are now, by name; std::runtime_error where
  // the run is refused.
  void run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs) {
    run_buffers(inputs.begin(), inputs.size(), outputs.begin(), outputs.size());
  }
  void run(const std::vector<Input>& inputs, const std::vector<Output>& outputs) {
    run_buffers(inputs.data(), inputs.size(), outputs.data(), outputs.size());
  }
  // As the C function does, without a look at the memory.
  void run(const void* const* inputs, void* const* outputs) {
    check(tenon_model_run(ctx_.get(), inputs, outputs));
  }

  // For the runs that follow; throws std::invalid_argument with the library's sentence where the input does not take it.
  void set_shape(std::int32_t input, const std::vector<std::int64_t>& shape) {
    const char* why = nullptr;
    const int code = tenon_model_set_shape(ctx_.get(), input, shape.data(),
                                           static_cast<std::int32_t>(shape.size()), &why);
    if (code != 0 && why != nullptr) throw std::invalid_argument(why);
    check(code);
  }

  // Tensors as the next run takes and gives them; throws std::out_of_range.
  const tenon_model_tensor& input(std::int32_t i) const {
    return there(tenon_model_input_now(ctx_.get(), i), "input", i);
  }
  const tenon_model_tensor& output(std::int32_t i) const {
    return there(tenon_model_output_now(ctx_.get(), i), "output", i);
  }
  static std::int32_t input_count() { return tenon_model_input_count(); }
  static std::int32_t output_count() { return tenon_model_output_count(); }
  static std::vector<std::int64_t> shape_of(const tenon_model_tensor& t) {
    return std::vector<std::int64_t>(t.shape, t.shape + t.rank);
  }
  // Zeros, as many as the tensor has elements.
  template <class T>
  std::vector<T> make_input(std::int32_t i) const {
    return std::vector<T>(input(i).bytes / sizeof(T));
  }
  template <class T>
  std::vector<T> make_output(std::int32_t i) const {
    return std::vector<T>(output(i).bytes / sizeof(T));
  }

  std::int32_t threads() const { return tenon_model_threads(ctx_.get()); }
  static const char* version() { return tenon_model_version(); }
  tenon_model_ctx* get() const { return ctx_.get(); }  // for the C functions; still owned

 private:
  struct Destroy {
    void operator()(tenon_model_ctx* ctx) const { tenon_model_destroy(ctx); }
  };

  static tenon_model_options with_threads(std::int32_t threads) {
    tenon_model_options o = tenon_model_options();
    o.threads = threads;
    return o;
  }

  // By the names of tensors' types; "": any type of that many bytes.
  template <class T>
  static const char* type_of() {
    if (std::is_same<T, float>::value) return "f32";
    if (std::is_same<T, double>::value) return "f64";
    if (std::is_same<T, bool>::value) return "bool";
    if (!std::is_integral<T>::value || std::is_same<T, std::uint16_t>::value) return "";
    const bool s = std::is_signed<T>::value;
    switch (sizeof(T)) {
      case 1:
        return s ? "i8" : "u8";
      case 2:
        return "i16";
      case 4:
        return s ? "i32" : "u32";
      default:
        return s ? "i64" : "u64";
    }
  }

  static const tenon_model_tensor& there(const tenon_model_tensor* t, const char* what,
                                         std::int32_t i) {
    if (t == nullptr) throw std::out_of_range(std::string("no ") + what + " " + std::to_string(i));
    return *t;
  }

  // Bytes may stand for truth values, which vectors pack otherwise.
  static bool same_type(const std::string& tensor, const std::string& given) {
    return given.empty() || given == tensor || (tensor == "bool" && given == "u8");
  }

  template <class B>
  static void check_buffer(const tenon_model_tensor& t, const B& b) {
    if (!same_type(t.dtype, b.type())) {
      throw std::invalid_argument(std::string(t.name) + " is " + t.dtype + ", not " + b.type());
    }
    if (b.bytes() != t.bytes) {
      throw std::invalid_argument(std::string(t.name) + " has " + std::to_string(t.bytes) +
                                  " bytes, not " + std::to_string(b.bytes()));
    }
  }

  static void check(int code) {
    if (code != 0) throw std::runtime_error(tenon_model_error(code));
  }

  static void check_count(std::size_t given, std::int32_t needed, const char* what) {
    if (given != static_cast<std::size_t>(needed)) {
      throw std::invalid_argument("the model has " + std::to_string(needed) + " " + what +
                                  ", not " + std::to_string(given));
    }
  }

  void run_buffers(const Input* inputs, std::size_t in, const Output* outputs, std::size_t out) {
    check_count(in, input_count(), "inputs");
    check_count(out, output_count(), "outputs");
    in_.resize(in);
    out_.resize(out);
    for (std::size_t i = 0; i < in; ++i) {
      check_buffer(input(static_cast<std::int32_t>(i)), inputs[i]);
      in_[i] = inputs[i].data();
    }
    for (std::size_t i = 0; i < out; ++i) {
      check_buffer(output(static_cast<std::int32_t>(i)), outputs[i]);
      out_[i] = outputs[i].data();
    }
    run(in_.data(), out_.data());
  }

  std::unique_ptr<tenon_model_ctx, Destroy> ctx_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

#endif
