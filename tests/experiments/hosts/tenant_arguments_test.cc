// What a host's command line of a tenant says of its job, and which folders the tenant reads.

#include "experiments/hosts/tenant_arguments.h"

#include <gtest/gtest.h>

#include "experiments/wire/tenant_start.h"

namespace cosched {
namespace {

TenantStart Started(const Job& job, Split threads) {
  const std::vector<std::string> arguments =
      TenantArguments(job, {}, Place::Whole({0, 1}, threads), Client::kOff, /*unbound=*/true);
  EXPECT_EQ(arguments.size(), 2U);
  EXPECT_EQ(arguments.front(), "tenant");
  const std::string option = "--start=";
  EXPECT_TRUE(arguments.back().starts_with(option));
  return ParseTenantStart(arguments.back().substr(option.size()));
}

TEST(TenantArguments, TellTheJobItsGrantAndHowItIsMoved) {
  Job job;
  job.id = JobId{7};
  job.elasticity = Elasticity::kMoldable;
  const TenantStart start = Started(job, {1, 2});
  EXPECT_EQ(start.job, job.id);
  EXPECT_EQ(start.elasticity, Elasticity::kMoldable);
  EXPECT_EQ(start.cores, CpuSet::Range(0, 1));
  EXPECT_EQ(start.threads, (Split{1, 2}));
  EXPECT_EQ(start.client, Client::kOff);
  EXPECT_TRUE(start.unbound);
}

TEST(TenantArguments, CapacityIsTheMostThreadsThatTheJobMayHave) {
  Job job;
  EXPECT_EQ(Started(job, {1, 2}).capacity, 2);
  EXPECT_EQ(Started(job, {3, 1}).capacity, 3);
  job.request.max = 5;
  EXPECT_EQ(Started(job, {1, 2}).capacity, 5);
  job.threads = Split{6, 1};
  EXPECT_EQ(Started(job, {1, 2}).capacity, 6);
  job.threads = Split{1, 8};
  EXPECT_EQ(Started(job, {1, 2}).capacity, 8);
}

TEST(TenantArguments, FoldersAreThoseOfTheDataAndTheModelsFile) {
  TenantSpec spec;
  spec.model = "resnet20";
  EXPECT_TRUE(FoldersOf(spec).empty());
  spec.data_directory = "/data";
  EXPECT_EQ(FoldersOf(spec), (std::vector<std::string>{"/data"}));
  spec.command.mounts = {"/home/me/venv", "/data"};
  EXPECT_EQ(FoldersOf(spec), (std::vector<std::string>{"/data", "/home/me/venv"}));
}

}  // namespace
}  // namespace cosched
