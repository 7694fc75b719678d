// SPDX-License-Identifier: Apache-2.0
#include "history/renew.h"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <tuple>
#include <utility>

#include "history/train.h"
#include "support/check.h"

namespace tenon::history {
namespace {

namespace fs = std::filesystem;

int64_t now_of(const Options& o) {
  return o.now ? o.now() : static_cast<int64_t>(std::time(nullptr));
}

int64_t vector_bytes(const target::Target& t) { return t.is_cpu() ? t.cpu().vector_bytes : 0; }

struct TrainedNow {
  FoundModel found;
  std::string left_out,
      not_kept;  // sentences; empty: all records could be read, the file is written
};

// The model that ships, if it sees programs as `model` does.
FoundModel fitting_shipped(const Options& o, const Where& where, const cost::CostModel& model) {
  FoundModel found = shipped_model(o.shipped, *where.target, o.model);
  if (found.file && found.file->card.features != encoding_of(model)) found.file.reset();
  return found;
}

// Trained, and kept for later runs where that is possible.
TrainedNow train_now(const db::Database& db, const Where& where, const Options& o,
                     const cost::CostModel& model) {
  const FoundModel shipped = fitting_shipped(o, where, model);
  Trained t = train(db, where,
                    {.model = o.model,
                     .now = now_of(o),
                     .limits = o.limits,
                     .shipped = shipped.file ? &*shipped.file : nullptr});
  TrainedNow out;
  if (t.left_out > 0) {
    out.left_out =
        fmt::format("{} of {} records teach nothing, the first: {}", t.left_out, t.rows, t.why);
  }
  out.found.file = std::move(t.file);
  if (!out.found.file) return out;
  try {
    write_model(model_path(o.database, where, o.model), *out.found.file);
  } catch (const UserError& e) {
    out.not_kept = fmt::format("the trained model cannot be kept: {}", e.what());
  }
  return out;
}

bool is_behind_shipped(const Card& c) {
  return c.shipped.tasks > 0 && c.shipped.pairwise > c.scores.pairwise;
}

class Beginning {
 public:
  Beginning(const db::Database& db, const Where& where, const Options& o, cost::CostModel& model)
      : db_(db), where_(where), options_(o), model_(model) {}

  Used begin() {
    const fs::path path = model_path(options_.database, where_, options_.model);
    FoundModel kept = usable(read_model(path));
    const auto rows = static_cast<double>(count_rows(db_, where_));
    const bool behind = !kept.file || rows >= kGrowth * static_cast<double>(kept.file->card.rows);
    if (!behind && take_better(kept, "kept")) return std::move(used_);
    FoundModel now = rows > 0 ? trained() : FoundModel{};
    const bool again = take_better(now, "trained");
    if (!again && !take(kept, "kept")) take_shipped();
    if (!kept.why.empty()) {
      note(fmt::format("{}: {}{}", path.string(), kept.why,
                       again ? "; it was trained again from the records" : ""));
    }
    return std::move(used_);
  }

 private:
  FoundModel usable(FoundModel found) const {
    if (!found.file) return found;
    std::string why = why_not(found.file->card, where_, model_);
    if (!why.empty()) return {std::nullopt, std::move(why)};
    return found;
  }

  void note(const std::string& sentence) {
    if (!sentence.empty()) used_.notes.push_back(sentence);
  }

  FoundModel trained() {
    TrainedNow t = train_now(db_, where_, options_, model_);
    note(t.left_out);
    note(t.not_kept);
    return std::move(t.found);
  }

  bool take_shipped() {
    FoundModel found = fitting_shipped(options_, where_, model_);
    const bool taken = take(found, "shipped");
    note(found.why);
    return taken;
  }

  // Takes the model of these records or the one that ships, whichever orders more pairs of held-out tasks right.
  bool take_better(FoundModel& own, const char* from) {
    if (!own.file || !is_behind_shipped(own.file->card) || !take_shipped()) return take(own, from);
    const Card& c = own.file->card;
    note(
        fmt::format("on {} tasks that were held out it has {:.2f} of the pairs right, and the "
                    "model of the {} records here {:.2f}",
                    c.shipped.tasks, c.shipped.pairwise, c.records, c.scores.pairwise));
    return true;
  }

  // What cannot be loaded is there no more, and says why.
  bool take(FoundModel& found, const char* from) {
    if (!found.file) return false;
    try {
      model_.load(found.file->bytes);
    } catch (const UserError& e) {
      found = {std::nullopt, e.what()};
      return false;
    }
    used_.from = from;
    note(model_.serve(where_.measured, where_.protocol, vector_bytes(*where_.target)));
    used_.card = found.file->card;
    return true;
  }

  const db::Database& db_;
  const Where& where_;
  const Options& options_;
  cost::CostModel& model_;
  Used used_;
};

}  // namespace

std::string why_not(const Card& card, const Where& where, const cost::CostModel& model) {
  if (card.model != model.name())
    return fmt::format("it is a model of another kind: {}", card.model);
  if (card.target != where.measured) return "it is the model of another target: " + card.target;
  if (card.protocol != where.protocol) {
    return "its records were timed in another way: " + card.protocol;
  }
  if (card.features != encoding_of(model)) {
    return fmt::format("tenon {} trained it on other features than this one computes", card.tenon);
  }
  return "";
}

Used begin(const db::Database& db, const Where& where, const Options& options,
           cost::CostModel& model) {
  try {
    return Beginning(db, where, options, model).begin();
  } catch (const UserError& e) {
    return {"", std::nullopt, {fmt::format("earlier records are not learned from: {}", e.what())}};
  }
}

std::string renew(const db::Database& db, const Where& where, const Options& options) {
  try {
    const fs::path path = model_path(options.database, where, options.model);
    const FoundModel kept = read_model(path);
    const auto model = cost::make_model(options.model, 1, 1);
    const bool usable = kept.file && why_not(kept.file->card, where, *model).empty();
    if (usable && count_rows(db, where) <= kept.file->card.rows) return "";
    return train_now(db, where, options, *model).not_kept;
  } catch (const UserError& e) {
    return fmt::format("the model is not renewed: {}", e.what());
  }
}

std::vector<fs::path> shipped_places(const fs::path& program_folder) {
  return {program_folder / "models",
          (program_folder / ".." / "share" / "tenon" / "models").lexically_normal()};
}

FoundModel shipped_model(const std::vector<fs::path>& places, const target::Target& target,
                         const std::string& model) {
  FoundModel best;
  std::pair<int64_t, int64_t> best_rank;  // difference of registers, records that it lacks
  for (const fs::path& place : places) {
    for (const fs::path& path : model_files(place)) {
      FoundModel found = read_model(path);
      if (!found.file) {
        best.why = fmt::format("{}: {}", path.string(), found.why);
        continue;
      }
      const Card& c = found.file->card;
      if (c.model != model || c.triple != target.triple) continue;
      const std::pair rank(std::abs(c.vector_bytes - vector_bytes(target)), -c.records);
      if (best.file && best_rank <= rank) continue;
      best_rank = rank;
      best.file = std::move(found.file);
    }
  }
  return best;
}

}  // namespace tenon::history
