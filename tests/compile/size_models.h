// SPDX-License-Identifier: Apache-2.0
// Small models with open dimensions, one of each pattern, and what they must answer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/sizes.h"
#include "onnx/sizes.h"

namespace tenon::compile {

// The bytes of ONNX files.
std::string batch_cnn();        // x: batch x 3 x 12 x 12
std::string batch_mlp();        // x: batch x 20
std::string wide_layer();       // x: batch x 16, a dense layer of 1000
std::string attention_block();  // x: batch x seq x 16, softmax(x x') x, then layer norm
std::string
masked_attention();  // x: batch x seq x 16, mask: batch x seq; all rows, their sum and their largest
std::string
scaled_rows();  // x: seq x 8, each row over its own sum, then attention: padding is no number there
std::string positions();    // ids: batch x seq, positions up to seq by a range; heads by reshapes
std::string last_row();     // x: seq x 8, the last row
std::string sound();        // x: 1 x 2 x samples, convolutions along samples
std::string joined_rows();  // x: seq x 8, a constant row in front of them
std::string embedding_mean();     // ids: batch x seq of i64, mean over seq
std::string batch_lstm();         // x: 4 x batch x 6: batch is not the first axis
std::string image_of_any_size();  // x: 1 x 3 x height x width
std::string mixing_batch();       // x - mean over batch
std::string batch_in_numbers();   // x / size of batch
std::string less_its_largest();   // x: height x width, less the largest of all
std::string two_inputs();
std::string past_and_next();  // x: batch x 8, y: batch x 8, bias: 8

// A model asked for these sizes ("1..8").
struct Sized {
  Sized(const std::string& bytes, const std::map<std::string, std::string>& dims);
  onnx::Source source;
  onnx::OpenSizes sizes;
  OpenModel model;

  graph::Graph at(const std::vector<int64_t>& s) const { return source.import(sizes.at(s)).graph; }
};

}  // namespace tenon::compile
