#include "policies/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/base/error.h"
#include "tests/policies/policy_machine.h"

namespace cosched {
namespace {

std::string ErrorOf(const char* policy, const PolicyParameters& parameters) {
  try {
    MakePolicy(*FindPolicy(policy), parameters);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const PolicyInfo& info : Policies()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(FindPolicy(info.name), &info);
    EXPECT_FALSE(info.summary.empty());
    for (const PolicyParameter& parameter : info.parameters) EXPECT_FALSE(parameter.help.empty());
  }
  EXPECT_EQ(FindPolicy("max_prop"), nullptr);
  EXPECT_EQ(
      PolicyNames(),
      "no-control, static-partition, strict, always-attend, max-prop, equal-share, "
      "easy-backfill, easy-malleable, sjf, srpt, hesrpt, marginal-speedup, round-robin, gang, "
      "lend-reclaim, feedback, scripted, scripted-shares, static-shares, roma-ct, roma-ct2, "
      "roma-rules, kosmos, kpa, hpa, vpa, sponge, fa2, curve-shares, devices-only, "
      "bottleneck-first, credit-knee");
}

// Three of four cores are taken, the next job needs two, the one behind it one.
TEST(Registry, SummariesSayWhereALaterJobOvertakes) {
  for (const char* name : {"strict", "always-attend", "max-prop", "sjf", "lend-reclaim",
                           "equal-share", "marginal-speedup"}) {
    const std::unique_ptr<ScheduledMachine> machine = MakeMachine(kFourCores, name);
    machine->Submit(SizedJob(1, Exactly(3), 1000));
    machine->SettleAll();
    machine->Submit(SizedJob(2, Exactly(2), 10));
    machine->Submit(SizedJob(3, Exactly(1), 100));
    const std::string state = machine->Counts();
    const bool overtakes = state == "1=3 2=wait 3=1";
    if (!overtakes) {
      EXPECT_EQ(state, "1=3 2=wait 3=wait") << name;
    }
    const std::string_view summary = FindPolicy(name)->summary;
    EXPECT_EQ(summary.find("overtake") != summary.npos, overtakes) << name << ": " << summary;
  }
}

TEST(Registry, DefaultsOfEveryPolicyAreAllowed) {
  for (const PolicyInfo& info : Policies()) EXPECT_NE(MakePolicy(info, {}), nullptr) << info.name;
}

TEST(Registry, OnlyNoControlOversubscribes) {
  for (const PolicyInfo& info : Policies()) {
    EXPECT_EQ(info.oversubscribes, info.name == "no-control");
  }
}

TEST(Registry, UnknownParameterIsNamed) {
  EXPECT_EQ(ErrorOf("max-prop", {{"oder", "fcfs"}}),
            "policy.max-prop.oder: there is no such parameter; allowed: order");
  EXPECT_EQ(ErrorOf("equal-share", {{"order", "fcfs"}}),
            "policy.equal-share.order: there is no such parameter; allowed: nothing: equal-share "
            "has no parameters");
}

TEST(Registry, ValueThatIsNotAllowedIsNamed) {
  EXPECT_EQ(ErrorOf("strict", {{"order", "lifo"}}),
            "policy.strict.order: \"lifo\" is not allowed; allowed: fcfs | priority");
  EXPECT_EQ(ErrorOf("strict", {{"order", "priority"}}), "");
}

TEST(Registry, NumbersAreParsedWholeAndBounded) {
  for (const char* bad : {"0", "-1", "", "2x", " 2", "1.5", "99999999999", "nan", "Auto", "fcfs"}) {
    EXPECT_EQ(ErrorOf("static-partition", {{"slices", bad}}),
              "policy.static-partition.slices: \"" + std::string(bad) +
                  "\" is not allowed; allowed: auto | integer >= 1");
  }
  for (const char* good : {"auto", "1", "64"}) {
    EXPECT_EQ(ErrorOf("static-partition", {{"slices", good}}), "");
  }
}

TEST(Registry, ATimetableIsCheckedAsAWhole) {
  const std::pair<const char*, const char*> kBad[] = {
      {"", "has no entry"},          {"1:2", "is the first and not at 0"},
      {"0:0", "starts on no cores"}, {"0:2 0:1", "is not after the last"},
      {"soon:2", "has no time"},     {"-1:2", "has no time"},
      {"0", "has no number"},        {"0:some", "has no number"},
      {"0:-1", "has no number"},     {"0:2:2", "has no split"},
      {"0:2:0x1", "has no split"},   {"0:2:1x2x3", "has no split"},
      {"nan:1", "has no time"},      {"0:[]", "has no number"},
      {"0:[1", "has no number"},     {"0:[x]", "has no number"},
  };
  for (const auto& [timetable, problem] : kBad) {
    const std::string error = ErrorOf("scripted", {{"timetable", timetable}});
    EXPECT_NE(error.find(problem), std::string::npos) << timetable << ": " << error;
    EXPECT_EQ(error.find("policy.scripted.timetable: "), 0U) << error;
    EXPECT_NE(error.find("SECONDS:CORES"), std::string::npos) << error;
  }
  EXPECT_EQ(ErrorOf("scripted", {{"timetable", "0:all:1xall  2.5:0 3:2:2x1 4:[0,2-3]:1x3"}}), "");
}

std::string g_made_with;

TEST(Registry, RealNumbersHaveBoundsToo) {
  static constexpr PolicyParameter kParameters[] = {
      {"gain", "0.5", "number > 0", "of the controller"},
      {"slo", "1", "number >= 0.1 | off", "seconds"},
      {"p", "0.5", "number > 0 and < 1", "an exponent"}};
  const PolicyInfo info = {
      .name = "toy",
      .summary = {},
      .source = {},
      .parameters = kParameters,
      .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
        g_made_with = parameters.at("gain") + " " + parameters.at("slo");
        return nullptr;
      }};
  MakePolicy(info, {{"slo", "off"}});
  EXPECT_EQ(g_made_with, "0.5 off");
  MakePolicy(info, {{"gain", "1e-3"}, {"slo", "0.1"}});
  EXPECT_EQ(g_made_with, "1e-3 0.1");
  EXPECT_THROW(MakePolicy(info, {{"gain", "0"}}), InputError);
  EXPECT_THROW(MakePolicy(info, {{"gain", "inf"}}), InputError);
  EXPECT_THROW(MakePolicy(info, {{"slo", "0.09"}}), InputError);
  MakePolicy(info, {{"p", "0.999"}});
  EXPECT_THROW(MakePolicy(info, {{"p", "1"}}), InputError);
  EXPECT_THROW(MakePolicy(info, {{"p", "0"}}), InputError);
}

TEST(JobEnd, HasTheNamesOfTheRecords) {
  EXPECT_EQ(ToString(JobEnd::kFinished), "finished");
  EXPECT_EQ(ToString(JobEnd::kFailed), "failed");
  EXPECT_EQ(ToString(JobEnd::kRejected), "rejected");
  EXPECT_EQ(ToString(JobEnd::kCancelled), "cancelled");
}

}  // namespace
}  // namespace cosched
