// SPDX-License-Identifier: Apache-2.0
// Random programs of branches and loops over vectors of three small whole numbers: as an ONNX model, and run by a walk over
// the tree that knows nothing of tenon.
//
//   Program p = draw_program(rng);
//   onnx::import_bytes(p.model(), "")   against   p.run(inputs)
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/interp.h"
#include "support/rng.h"

namespace tenon::onnx::testing {

struct Block;

// x < c for the largest element of x, or the turn of the loop around it is less than c, or always.
struct Condition {
  enum Kind { kAlways, kLargest, kTurn } kind = kAlways;
  std::string x;
  int64_t c = 0;
};

struct Statement {
  enum Kind { kOp, kIf, kLoop, kScan } kind = kOp;
  std::string op;                     // kOp
  std::vector<std::string> operands;  // kOp; initial states
  std::vector<std::string> results;   // names that are there behind it
  std::vector<std::string> rows;      // what a loop scans, a row for each turn
  std::vector<std::shared_ptr<Block>> blocks;
  Condition condition;      // of an If; before the first turn
  int64_t count = -1;       // turns; -1: not limited
  std::string count_input;  // its name where it is an input of the model
  std::string through;      // kScan
  bool backward = false;
};

struct Block {
  std::string prefix;  // of its names
  std::vector<Statement> statements;
  std::vector<std::string> states;  // names inside, of a loop's body
  std::string turn, element;        // the same
  Condition next;                   // whether there is another turn
  std::vector<std::string> results, scanned;
};

struct Program {
  Block block;
  std::map<std::string, ir::Array> inputs;
  std::vector<std::string> outputs;

  std::string model() const;  // bytes of an ONNX file
  std::vector<ir::Array> run() const;
};

Program draw_program(Rng& rng);

}  // namespace tenon::onnx::testing
