#include "policies/node_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cosched {
namespace {

using ::testing::ElementsAre;

JobView Running(int64_t id, const CpuSet& cores) {
  JobView job;
  job.id = {id};
  job.state = JobState::kRunning;
  job.cores = cores;
  return job;
}

JobView Waiting(int64_t id, std::optional<int> node = std::nullopt) {
  JobView job;
  job.id = {id};
  job.node = node;
  return job;
}

std::vector<std::vector<int64_t>> Ids(std::initializer_list<JobView> jobs) {
  MachineView view;
  view.nodes = {{0, 1}, {2, 3}, {4, 5}};
  view.jobs = JobTable(jobs);
  std::vector<std::vector<int64_t>> ids;
  const NodeJobs by_node(view);
  for (size_t node = 0; node < by_node.Nodes(); ++node) {
    ids.emplace_back();
    for (const auto& [job, rank] : by_node.Of(node)) {
      EXPECT_EQ(by_node.ByRank().at(rank), job);
      ids.back().push_back(job->id.value);
    }
  }
  return ids;
}

TEST(NodeJobs, RunningOnesAreWhereTheirCoresAre) {
  EXPECT_THAT(Ids({Running(0, {2, 3}), Running(1, {4}), Running(2, {0, 1}), Running(3, {3})}),
              ElementsAre(ElementsAre(2), ElementsAre(0, 3), ElementsAre(1)));
}

TEST(NodeJobs, WithoutANodeOfItsOwnItIsTheFirst) {
  EXPECT_THAT(Ids({Running(0, {1, 2}), Running(1, {9}), Running(2, {})}),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(), ElementsAre()));
}

TEST(NodeJobs, OnesThatMustStayInANodeRunBesideOthers) {
  JobView stays = Running(1, {4, 5});
  stays.node = 2;
  EXPECT_THAT(Ids({Running(0, {5}), stays, Running(2, {4}), Running(3, {2, 3})}),
              ElementsAre(ElementsAre(), ElementsAre(3), ElementsAre(0, 1, 2)));
}

TEST(NodeJobs, WaitingOnesComeBehindThoseThatRunWhereTheyMustOrWhereFewestAre) {
  EXPECT_THAT(Ids({Waiting(0), Waiting(1, 2), Waiting(2), Running(3, {0}), Running(4, {4})}),
              ElementsAre(ElementsAre(3, 2), ElementsAre(0), ElementsAre(4, 1)));
}

}  // namespace
}  // namespace cosched
