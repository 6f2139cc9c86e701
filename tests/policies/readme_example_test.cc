// policies/README.md shows how to add a policy: the file shown is the one compiled here, word for
// word, and it works.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "policies/registry.h"
#include "tests/paths.h"
#include "tests/policies/fake_host.h"

namespace cosched {

PolicyInfo SmallestFirstPolicy();

namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(InSource(path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReadmeExample, IsTheFileThatIsCompiledHere) {
  const std::string example = ReadText("tests/policies/smallest_first.cc");
  ASSERT_FALSE(example.empty());
  EXPECT_NE(ReadText("policies/README.md").find("```cpp\n" + example + "```"), std::string::npos)
      << "policies/README.md does not show tests/policies/smallest_first.cc as it is";
}

TEST(ReadmeExample, StartsTheSmallestWaitingJobFirst) {
  const Topology topology = Topology::Synthetic(kFourCores);
  MachineView view;
  view.topology = &topology;
  view.cores = topology.Cpus();
  for (const auto& [id, preferred] : {std::pair{0, 4}, {1, 3}, {2, 1}}) {
    JobView job;
    static_cast<Job&>(job) = MakeJob(id, {1, preferred, 4});
    view.jobs.Add(job);
  }
  const std::unique_ptr<Policy> policy = MakePolicy(SmallestFirstPolicy(), {});
  const Allocation allocation = policy->Decide(view, JobArrived{{2}});
  ASSERT_EQ(allocation.jobs.size(), 2u);
  EXPECT_EQ(std::get<int>(std::get<cosched::Run>(allocation.jobs.at({2})).cores), 1);
  EXPECT_EQ(std::get<int>(std::get<cosched::Run>(allocation.jobs.at({1})).cores), 3);
}

}  // namespace
}  // namespace cosched
