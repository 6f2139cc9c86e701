#pragma once
// What follows from a pipeline's specification: which level each gate is on, and which credits are
// taken and given back where. Used by PipelineState and Check(). Plain data.

#include <string>
#include <vector>

#include "engine/gates/pipeline_spec.h"

namespace cosched {

struct PipelineLayout {
  // Of each stage and its gate; the last is the egress, a gate without a stage.
  struct Place {
    int level = 0;       // Of the gate's requests.
    int call_level = 0;  // Of the calls': that of the partitions, if the gate makes some.
    // Links, -1: none. A request takes `opens` when it is opened at the gate and gives back `closes`
    // when it is closed there.
    int opens = -1, closes = -1;
    int shares = 1;         // Requests that may be inside.
    bool one_call = false;  // A request has one call at most.
    bool numbers = false;   // Items are numbered as the stage emits them, one call at a time.
    bool counted = false;   // Ordinals of what comes to the gate are 0, 1, 2, ….
  };
  struct Level {
    int partition = -1;  // The stage that begins it; of the outermost none.
    int join = 0;        // The gate where it ends.
    int parent = -1;
    // Links: a request of this level takes `enters` when it begins, and gives back `ends` when it
    // has ended (-1: it has none to give back).
    int enters = 0, ends = -1;
    CreditLink link = CreditLink::kLinear;
  };
  struct Link {
    int capacity = 1;  // With the specification's `open`.
    int most = 1;      // With its open_max.
    int own = 0;       // What the gate says for itself; 0: nothing.
    int level = 0;
  };
  // Throws InputError for what makes no sense, as Check() does; not for what can deadlock.
  explicit PipelineLayout(const PipelineSpec& spec);

  int Egress() const { return static_cast<int>(places.size()) - 1; }
  const Place& At(int gate) const { return places[static_cast<size_t>(gate)]; }
  const StageSpec& Stage(int stage) const { return spec.stages[static_cast<size_t>(stage)]; }
  const Level& LevelAt(int level) const { return levels[static_cast<size_t>(level)]; }
  bool Partitions(int gate) const { return At(gate).call_level != At(gate).level; }
  // Of a link of the outermost level, when so many requests may be open.
  static int CapacityOf(const Link& link, int open);

  PipelineSpec spec;
  std::vector<Place> places;
  std::vector<Level> levels;  // The outermost first, outer ones before inner ones.
  std::vector<Link> links;

 private:
  void PlaceLevels();
  void PlaceLinks();
  void PlaceLinksOf(int level);
  void PlaceOrdinals();
  int AddLink(int level, int own);
};

// "stages.align.batch": where an error of the specification is.
[[noreturn]] void RefuseStage(const StageSpec& stage, const std::string& key,
                              const std::string& problem, const std::string& allowed);

}  // namespace cosched
