// SPDX-License-Identifier: Apache-2.0
#include "report/program/assembly.h"

#include <cstring>
#include <sstream>

namespace tenon::report {
namespace {

bool contains(const std::string& line, const char* text) {
  return line.find(text) != std::string::npos;
}

bool is_label(const std::string& line) {
  return !line.empty() && line[0] != '\t' && line[0] != ' ' && line[0] != '#' &&
         contains(line, ":");
}

// What follows a jump is another block, with or without a label.
bool is_branch(const std::string& line) {
  return line[1] == 'j' || line.compare(1, 2, "b\t") == 0 || line.compare(1, 2, "b.") == 0 ||
         line.compare(1, 2, "cb") == 0 || line.compare(1, 2, "tb") == 0 ||
         line.compare(1, 3, "bra") == 0 || line[1] == '@';
}

// "\tvfmadd231ps ..." is one, and so is PTX's "\t@%p1 bra ..."; "\t.p2align 4" and "\t# comment" are none.
bool is_instruction(const std::string& line) {
  return line.size() > 1 && line[0] == '\t' &&
         ((line[1] >= 'a' && line[1] <= 'z') || line[1] == '@');
}

bool is_multiply_add(const std::string& line) {
  for (const char* name : {"vfmadd", "vfnmadd", "vfmsub", "vfnmsub", "fmla", "fmls", "fmadd",
                           "fmsub", "vpdp", "sdot", "udot", "fma."}) {
    if (line.compare(1, std::strlen(name), name) == 0) {
      return true;
    }
  }
  return false;
}

void count(const std::string& line, CodeCounts& counts) {
  counts.instructions += 1;
  counts.multiply_adds += is_multiply_add(line) ? 1 : 0;
  counts.spills += contains(line, "Spill") ? 1 : 0;
  counts.reloads += contains(line, "Reload") ? 1 : 0;
}

}  // namespace

CodeSummary summarize_assembly(const std::string& text) {
  CodeSummary summary;
  CodeCounts block;
  const auto end_block = [&] {
    if (block.multiply_adds > summary.hottest.multiply_adds) {
      summary.hottest = block;
    }
    block = {};
  };
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (is_label(line)) {
      end_block();
    } else if (is_instruction(line)) {
      count(line, summary.all);
      count(line, block);
      if (is_branch(line)) {
        end_block();
      }
    }
  }
  end_block();
  return summary;
}

}  // namespace tenon::report
