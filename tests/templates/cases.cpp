// SPDX-License-Identifier: Apache-2.0
#include "templates/cases.h"

#include "te/text.h"
#include "templates/case_tables.h"

namespace tenon::templates {

Case unary(const std::string& family, const std::string& name, const std::vector<int64_t>& shape,
           const std::function<te::Tensor(te::Builder&, const te::Tensor&)>& op) {
  return {family, name, [=] {
            te::Builder b;
            b.output(op(b, b.input("X", ir::kF32, shape)));
            return b.finish();
          }};
}

Case parsed(const std::string& family, const std::string& name, const std::string& text) {
  return {family, name, [=] { return te::parse(text); }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& table :
       {conv_cases(), product_cases(), row_cases(), pool_cases(), map_cases(), typed_cases()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  return all;
}

}  // namespace tenon::templates
