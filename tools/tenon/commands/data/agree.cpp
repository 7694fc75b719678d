// SPDX-License-Identifier: Apache-2.0
// tenon data agree: how well two times of the same programs agree, and so what a model could be seen to know at most.
#include <fmt/format.h>

#include "history/agreement.h"
#include "support/check.h"
#include "tools/tenon/command.h"
#include "tools/tenon/commands/data/verbs.h"
#include "tools/tenon/json.h"
#include "tools/tenon/text.h"

namespace tenon::tools {
namespace {

Json agreement_json(const Machine& m, const history::Agreement& a) {
  return {{"target", m.where.measured},
          {"protocol", m.where.protocol},
          {"programs", a.programs},
          {"deviation", a.deviation},
          {"scores", scores_json(a.scores)}};
}

std::string agreement_text(const Machine& m, const history::Agreement& a) {
  std::string text = fmt::format("{}; {}\n", escaped(m.where.measured), escaped(m.where.protocol));
  if (a.programs == 0) return text + "  no program ran in both\n";
  return text + fmt::format(
                    "  {} programs ran in both; a time deviates by {:.1f} %\n"
                    "  the first judged by the second: top-1 {:.3f}  top-5 {:.3f}  pairs {:.3f}  "
                    "({} tasks)\n",
                    grouped(a.programs), 100 * a.deviation, a.scores.top1, a.scores.top5,
                    a.scores.pairwise, grouped(a.scores.tasks));
}

}  // namespace

int data_agree(const DataVerbOptions& o, const Console& console) {
  if (o.files.size() != 2) {
    throw UserError("two files are compared", "tenon data agree FIRST SECOND");
  }
  const auto one = open_files({o.files[0]}), other = open_files({o.files[1]});
  Json list = Json::array();
  std::string text;
  for (const Machine& m : machines(*one, o.select)) {
    const auto a = history::agreement(history::read_records(*one, m.where, limits_of(o)).tasks,
                                      history::read_records(*other, m.where, limits_of(o)).tasks);
    list.push_back(agreement_json(m, a));
    text += agreement_text(m, a);
  }
  console.answer(
      console.json()
          ? to_text(Json{{"schema", "tenon.data/1"}, {"verb", "agree"}, {"machines", list}})
          : text);
  return kExitOk;
}

}  // namespace tenon::tools
