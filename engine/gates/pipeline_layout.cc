#include "engine/gates/pipeline_layout.h"

#include <algorithm>

#include "engine/base/error.h"

namespace cosched {
namespace {

void RequireAtLeast(int64_t least, int64_t value, const StageSpec& stage, const std::string& key) {
  if (value >= least) return;
  RefuseStage(stage, key, std::to_string(value), std::to_string(least) + " or more");
}

void CheckNumbers(const StageSpec& stage) {
  RequireAtLeast(1, stage.from.batch, stage, "batch");
  RequireAtLeast(0, stage.from.open, stage, "open");
  RequireAtLeast(0, stage.from.items, stage, "items");
  RequireAtLeast(0, stage.from.bytes, stage, "bytes");
  RequireAtLeast(0, stage.parallel, stage, "parallel");
  RequireAtLeast(0, stage.joins, stage, "joins");
  RequireAtLeast(1, stage.inner_open, stage, "inner_open");
}

void CheckRoom(const StageSpec& stage, bool is_ingress, int shares) {
  const Gate::Options& from = stage.from;
  if (from.items == 0 && from.bytes == 0) return;
  const std::string key = from.items > 0 ? "items" : "bytes";
  if (is_ingress) {
    RefuseStage(stage, key, "a bound at the ingress, where a request comes with all its items",
                "0, which is no bound");
  }
  if (from.hands == Gate::Hands::kWhole) {
    RefuseStage(stage, key, "a bound where requests wait until all their items are there",
                "0, which is no bound");
  }
  const int64_t batch = from.hands == Gate::Hands::kOne ? 1 : from.batch;
  if (from.items > 0 && from.items / shares < batch) {
    RefuseStage(stage, "items",
                std::to_string(from.items) + " items for " + std::to_string(shares) +
                    " requests, each of which needs room for a batch of " + std::to_string(batch),
                std::to_string(batch * shares) + " or more, or 0");
  }
}

}  // namespace

void RefuseStage(const StageSpec& stage, const std::string& key, const std::string& problem,
                 const std::string& allowed) {
  throw InputError(
      {.key = "stages." + stage.name + "." + key, .problem = problem, .allowed = allowed});
}

PipelineLayout::PipelineLayout(const PipelineSpec& specification) : spec(specification) {
  if (spec.stages.empty()) {
    throw InputError({.key = "stages", .problem = "none", .allowed = "one or more"});
  }
  if (spec.open < 1 || spec.open > spec.open_max) {
    throw InputError({.key = "open",
                      .problem = std::to_string(spec.open),
                      .allowed = "1 to " + std::to_string(spec.open_max)});
  }
  for (const StageSpec& stage : spec.stages) CheckNumbers(stage);
  PlaceLevels();
  PlaceLinks();
  PlaceOrdinals();
  for (int i = 0; i < Egress(); ++i) CheckRoom(Stage(i), i == 0, At(i).shares);
}

void PipelineLayout::PlaceLevels() {
  places.resize(spec.stages.size() + 1);
  levels.push_back({.join = Egress(), .link = spec.link});
  int level = 0;
  for (int i = 0; i < Egress(); ++i) {
    for (int joined = 0; joined < Stage(i).joins; ++joined) {
      if (level == 0) {
        RefuseStage(Stage(i), "joins", std::to_string(Stage(i).joins) + " levels",
                    std::to_string(joined) + ", as many as were begun");
      }
      levels[static_cast<size_t>(level)].join = i;
      level = LevelAt(level).parent;
    }
    Place& place = places[static_cast<size_t>(i)];
    place.level = level;
    if (Stage(i).from.hands == Gate::Hands::kPartition) {
      levels.push_back(
          {.partition = i, .join = Egress(), .parent = level, .link = Stage(i).inner_link});
      level = static_cast<int>(levels.size()) - 1;
    }
    place.call_level = level;
  }
}

int PipelineLayout::CapacityOf(const Link& link, int open) {
  return link.own == 0 ? open : std::min(open, link.own);
}

int PipelineLayout::AddLink(int level, int own) {
  Link link{.own = own, .level = level};
  const int inner = level == 0 ? 0 : Stage(LevelAt(level).partition).inner_open;
  link.capacity = CapacityOf(link, level == 0 ? spec.open : inner);
  link.most = CapacityOf(link, level == 0 ? spec.open_max : inner);
  links.push_back(link);
  return static_cast<int>(links.size()) - 1;
}

void PipelineLayout::PlaceLinks() {
  for (int level = 0; level < static_cast<int>(levels.size()); ++level) PlaceLinksOf(level);
}

void PipelineLayout::PlaceLinksOf(int level) {
  Level& of = levels[static_cast<size_t>(level)];
  if (of.link == CreditLink::kEndToEnd) {
    of.enters = of.ends = AddLink(level, 0);
    for (int i = 0; i < Egress(); ++i) {
      if (At(i).level != level) continue;
      places[static_cast<size_t>(i)].shares = links.back().most;
      if (Stage(i).from.open != 0) {
        RefuseStage(Stage(i), "open", "credits of a gate's own on a level with end-to-end credits",
                    "0");
      }
    }
    return;
  }
  of.enters = -1;
  int* takes = &of.enters;
  for (int i = 0; i < Egress(); ++i) {
    Place& place = places[static_cast<size_t>(i)];
    if (place.level != level) continue;
    *takes = place.closes = AddLink(level, Stage(i).from.open);
    place.shares = links.back().most;
    takes = &place.opens;
  }
  *takes = of.ends = AddLink(level, 0);
}

void PipelineLayout::PlaceOrdinals() {
  size_t parts = 1;
  bool single = false;  // A request has one item at most.
  places[0].counted = true;
  for (int i = 0; i < Egress(); ++i) {
    const StageSpec& stage = Stage(i);
    Place& place = places[static_cast<size_t>(i)];
    if (stage.from.in_order && !place.counted) {
      RefuseStage(stage, "in_order", "items come without numbers from 0 on",
                  "order below stages that are serial, or make one item of each, or have one call "
                  "a request");
    }
    const bool whole = stage.from.hands == Gate::Hands::kWhole;
    place.one_call = whole || Partitions(i) || single;
    place.numbers = whole || Partitions(i) || (stage.emits_many && (single || stage.parallel == 1));
    const bool by_batch = stage.from.hands == Gate::Hands::kMany;
    const bool multiplies = stage.emits_many && !place.numbers;
    const size_t joins = i + 1 < Egress() ? static_cast<size_t>(Stage(i + 1).joins) : 0;
    parts = (place.numbers || by_batch ? 1 : parts) + (multiplies ? 1 : 0) + joins;
    single = place.one_call && !stage.emits_many && joins == 0;
    places[static_cast<size_t>(i) + 1].counted =
        joins == 0 && !multiplies && (place.numbers || by_batch || place.counted);
    // All levels that are still open are joined at the egress.
    size_t depth = 0;
    for (int level = place.call_level; i + 1 == Egress() && level > 0;
         level = LevelAt(level).parent)
      ++depth;
    if (parts + depth > Ordinal::kMostParts) {
      RefuseStage(stage, "emits_many", "items of items, " + std::to_string(parts + depth) + " deep",
                  std::to_string(Ordinal::kMostParts) + " at most; a serial stage begins anew");
    }
  }
}

}  // namespace cosched
