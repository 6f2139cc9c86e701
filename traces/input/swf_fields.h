#pragma once
// The 18 fields of a job in the Standard Workload Format, version 2.2. Called by the format's reader
// and writer.

#include <array>
#include <cstddef>
#include <string_view>

namespace cosched {

enum SwfField : size_t {
  kSwfJobNumber = 0,
  kSwfSubmit = 1,
  kSwfRunTime = 3,
  kSwfAllocated = 4,
  kSwfRequested = 7,
  kSwfUser = 11,
  kSwfFields = 18
};

constexpr std::array<std::string_view, kSwfFields> kSwfNames = {"job_number",
                                                                "submit_time",
                                                                "wait_time",
                                                                "run_time",
                                                                "allocated_processors",
                                                                "average_cpu_time",
                                                                "used_memory",
                                                                "requested_processors",
                                                                "requested_time",
                                                                "requested_memory",
                                                                "status",
                                                                "user_id",
                                                                "group_id",
                                                                "executable",
                                                                "queue",
                                                                "partition",
                                                                "preceding_job",
                                                                "think_time"};

}  // namespace cosched
