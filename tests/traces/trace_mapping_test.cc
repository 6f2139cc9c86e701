// Arrivals become jobs and requests by the rules of [trace.map].

#include "traces/trace_mapping.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"

namespace cosched {
namespace {

using Choice = MappingRules::Choice;

const std::vector<std::string> kColumns = {"application", "minutes", "type"};

class TraceMappingTest : public testing::Test {
 protected:
  TraceMappingTest() {
    rules_.targets = {{"net", 3, false}, {"dense", 1, false}, {"none", 0, false}};
    rules_.most_cores = 8;
  }
  // With these cells.
  Arrival Row(std::string_view application, std::string_view minutes = "",
              std::string_view type = "") {
    cells_ = {application, minutes, type};
    Arrival arrival;
    arrival.time = FromSeconds(7);
    arrival.attributes = cells_;
    return arrival;
  }
  JobArrival Job(const Arrival& arrival) {
    return std::get<JobArrival>(TraceMapping(rules_, kColumns).Map(arrival));
  }
  InputErrorDetails Refused(const Arrival& arrival) {
    try {
      TraceMapping(rules_, kColumns).Map(arrival);
    } catch (const InputError& error) {
      return error.details();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  MappingRules rules_;
  std::vector<std::string_view> cells_;
};

TEST_F(TraceMappingTest, ByWeightDrawsWithTheSeed) {
  const auto draw = [this](uint64_t seed) {
    rules_.seed = seed;
    TraceMapping mapping(rules_, kColumns);
    std::vector<std::string> names;
    for (int i = 0; i < 4000; ++i)
      names.push_back(std::get<JobArrival>(mapping.Map(Row("x"))).workload);
    return names;
  };
  const auto names = draw(1);
  EXPECT_EQ(names, draw(1));
  EXPECT_NE(names, draw(2));
  std::map<std::string, int> count;
  for (const std::string& name : names) ++count[name];
  EXPECT_NEAR(count["net"], 3000, 150);
  EXPECT_NEAR(count["dense"], 1000, 150);
  EXPECT_EQ(count["none"], 0);
}

TEST_F(TraceMappingTest, ByHashIsTheSameForATenantAndFollowsTheWeights) {
  rules_.choice = Choice::kByHash;
  TraceMapping mapping(rules_, kColumns);
  int nets = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string tenant = "user" + std::to_string(i);
    Arrival arrival = Row("x");
    arrival.tenant = tenant;
    const auto first = std::get<JobArrival>(mapping.Map(arrival)).workload;
    EXPECT_EQ(std::get<JobArrival>(mapping.Map(arrival)).workload, first);
    nets += first == "net";
  }
  EXPECT_NEAR(nets, 3000, 150);
}

TEST_F(TraceMappingTest, ByColumnGoesByValueAndRejectsTheRest) {
  rules_.choice = Choice::kByColumn;
  rules_.column = "application";
  rules_.values = {{"cifar10", "net"}, {"ncf", ""}};
  EXPECT_EQ(Job(Row("cifar10")).workload, "net");
  TraceMapping mapping(rules_, kColumns);
  for (const char* name : {"ncf", "bert"})
    EXPECT_TRUE(std::holds_alternative<TraceMapping::Rejected>(mapping.Map(Row(name)))) << name;
  rules_.otherwise = "dense";
  EXPECT_EQ(Job(Row("bert")).workload, "dense");
}

TEST_F(TraceMappingTest, ByNameRefusesWhatNobodyIsCalled) {
  rules_.choice = Choice::kByName;
  rules_.column = "application";
  EXPECT_EQ(Job(Row("dense")).workload, "dense");
  const InputErrorDetails details = Refused(Row("vgg"));
  EXPECT_EQ(details.key, "application");
  EXPECT_NE(details.problem.find("vgg"), std::string::npos);
  EXPECT_EQ(details.allowed, "net, dense, none");
}

TEST_F(TraceMappingTest, StepsComeFromAColumnOrAFact) {
  rules_.steps = {.column = "minutes", .factor = 60 / 0.25, .least = 1, .most = 500};
  EXPECT_EQ(Job(Row("x", "1.5")).steps, 360);
  EXPECT_EQ(Job(Row("x", "0")).steps, 1);
  EXPECT_EQ(Job(Row("x", "1e6")).steps, 500);
  EXPECT_EQ(Job(Row("x", "123456789012345678")).steps, 500) << "no nine decimals fit";
  EXPECT_EQ(Job(Row("x", "")).steps, std::nullopt) << "the workload's own";
  EXPECT_EQ(Job(Row("x", "-1")).steps, std::nullopt) << "how formats say that it is not known";
  EXPECT_EQ(Refused(Row("x", "many")).key, "minutes");
  rules_.steps->column = "duration";
  rules_.steps->factor = 4;
  EXPECT_EQ(Job(Row("x")).steps, std::nullopt);
  Arrival arrival = Row("x");
  arrival.duration = FromSeconds(2.6);
  EXPECT_EQ(Job(arrival).steps, 10);
  rules_.steps->column = "size";
  arrival.size = 7;
  EXPECT_EQ(Job(arrival).steps, 28);
}

TEST_F(TraceMappingTest, CoresAreTheTracesOnRequest) {
  Arrival arrival = Row("x");
  arrival.cores_preferred = 32;
  arrival.priority = 4;
  EXPECT_EQ(Job(arrival).cores_preferred, std::nullopt);
  rules_.cores = true;
  TraceMapping mapping(rules_, kColumns);
  const JobArrival job = std::get<JobArrival>(mapping.Map(arrival));
  EXPECT_EQ(job.cores_preferred, 8);
  EXPECT_EQ(job.cores_min, std::nullopt);
  EXPECT_EQ(job.priority, 4);
  EXPECT_EQ(mapping.limited(), 1);
  arrival.cores_preferred.reset();
  arrival.cores_min = 2;
  arrival.cores_max = 6;
  EXPECT_EQ(std::get<JobArrival>(mapping.Map(arrival)).cores_max, 6);
  EXPECT_EQ(mapping.limited(), 1);
}

TEST_F(TraceMappingTest, JobsMayBeLessElasticThanOthers) {
  rules_.elasticity_column = "type";
  rules_.elasticities = {{"rigid", Elasticity::kRigid}, {"adaptive", Elasticity::kMalleable}};
  EXPECT_EQ(Job(Row("x", "", "rigid")).elasticity, Elasticity::kRigid);
  EXPECT_EQ(Job(Row("x", "", "adaptive")).elasticity, Elasticity::kMalleable);
  EXPECT_EQ(Refused(Row("x", "", "evolving")).key, "type");
}

TEST_F(TraceMappingTest, RequestsGoToServicesAndJobsToWorkloadsThatAreNone) {
  rules_.targets.push_back({"service", 1, true});
  rules_.work = {.column = "minutes", .factor = 2, .least = 0, .most = 100};
  TraceMapping mapping(rules_, kColumns);
  EXPECT_TRUE(std::holds_alternative<JobArrival>(mapping.Map(Row("x"))));
  Arrival arrival = Row("x", "1.25");
  arrival.kind = Arrival::Kind::kRequest;
  arrival.deadline = FromSeconds(0.1);
  const auto request = std::get<RequestArrival>(mapping.Map(arrival));
  EXPECT_EQ(request.service, "service");
  EXPECT_EQ(request.time, FromSeconds(7));
  EXPECT_EQ(request.work, 2.5);
  EXPECT_EQ(request.slo, FromSeconds(0.1));
  rules_.targets.pop_back();
  EXPECT_TRUE(std::holds_alternative<JobArrival>(TraceMapping(rules_, kColumns).Map(arrival)))
      << "without a service a request is a job";
}

TEST_F(TraceMappingTest, AColumnThatIsNotThereIsRefusedByItsKey) {
  rules_.steps = {.column = "hours", .factor = 1, .least = 1, .most = 5};
  try {
    const TraceMapping mapping(rules_, kColumns);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.details().key, "steps.column");
    EXPECT_NE(error.details().allowed.find("minutes"), std::string::npos);
  }
}

}  // namespace
}  // namespace cosched
