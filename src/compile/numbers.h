// SPDX-License-Identifier: Apache-2.0
// Loop programs that differ in whole numbers only, as one program that reads these numbers.
//
//   for i in 0..24 { C[i*7] = A[i] }    for i in 0..40 { C[i*9] = A[i] }
//     =>  for i in 0..n0 { C[i*n1] = A[i] }    with {24, 7} and {40, 9}
//
// Numbers that the backend has to know stay as they are: strides of vectors, places in registers, and how
// often a loop runs that needs much memory for each turn. Programs that differ there, or in anything else, stay apart.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace tenon::compile {

// A program without its numbers, and these in the order of the walk. Programs of equal form differ in numbers only.
struct Numbered {
  std::vector<uint64_t> form;
  std::vector<int64_t> numbers;  // of index arithmetic, bounds and extents
  std::vector<int64_t> sizes;    // elements of the parameters, then of allocated buffers
};
Numbered take_numbers(const ir::Function& f);
// The same program with others in their place.
ir::Function with_numbers(const ir::Function& f, const std::vector<int64_t>& numbers);
// Does the same for an expression, whose free variables and buffers are `free`.
Numbered take_numbers(const ir::Expr& e, const std::vector<const void*>& free);

// One function for several of equal form. Parameters have the smallest size of all, so that nothing is taken to be in bounds
// that is not; allocated buffers have the largest.
struct Shared {
  ir::Function
      function;  // its first parameter is a buffer of numbers, unless all programs are the same
  std::vector<std::vector<int64_t>> numbers;  // for each program, what that buffer holds
};
Shared share(const ir::Function& first, const std::vector<const Numbered*>& programs);

}  // namespace tenon::compile
