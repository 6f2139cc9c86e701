#pragma once
// The machines of a simulated cluster, their links and their store. Plain data.

#include <string>
#include <vector>

namespace cosched {

struct ClusterSettings {
  // Equal machines.
  struct Group {
    int count = 1;
    int cores = 1;  // Of each.
    // Calls at once of each machine's stages that wait, all together; 0: as many as these stages
    // allow, where each says how many.
    int waiting_lanes = 0;
    // What they do; of the stages of a local pipeline the first one stands for all. Empty: all.
    std::vector<std::string> stages = {};
  };
  std::vector<Group> groups = {};
  // Between any two machines, and of each call's transfer by itself.
  double link_latency_s = 0;
  double link_bytes_per_s = 0;  // 0: as many as you like.
  // Of all that is read from and written to the store at a time, divided equally. 0: as above.
  double store_bytes_per_s = 0;
};

}  // namespace cosched
