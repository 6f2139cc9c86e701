#pragma once
// What a report shows of one cell: its jobs, and who had how many cores from when to when. Reads files only.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace cosched {

// Jobs that are shown at most: those that came first, up to when the next one came.
inline constexpr int kMostShownJobs = 300;

// {"jobs": [[id, workload, came, started or null, ended, state, reason], …], "all_jobs": n,
//  "spans": [[job, from, to, cores, threads], …]}: times in seconds, cores as an amount (1.5 of a quota), 0
// = waiting or paused. Without "spans" where the run recorded no grants. Throws InputError naming file and
// line of what is malformed.
nlohmann::ordered_json CellData(const std::filesystem::path& cell);

}  // namespace cosched
