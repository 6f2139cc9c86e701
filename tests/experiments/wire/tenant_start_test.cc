// What a host tells a tenant that it starts is what the tenant reads: each member, and nothing else.

#include "experiments/wire/tenant_start.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "tests/experiments/wire/unusual_tenant_spec.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// No member has its default.
TenantStart Unusual() {
  TenantStart start;
  start.job = JobId{7};
  start.elasticity = Elasticity::kMoldable;
  start.capacity = 9;
  start.cores = *CpuSet::Parse("0-2,5");
  start.threads = {3, 4};
  start.client = Client::kHalving;
  start.unbound = true;
  start.spec = UnusualTenantSpec();
  return start;
}

TEST(TenantStart, EveryMemberComesBack) {
  TenantStart plain;
  plain.cores = CpuSet::Range(0, 0);
  plain.threads = {1, 1};
  const Json usual = Json::parse(Encode(plain)), unusual = Json::parse(Encode(Unusual()));
  for (const auto& [name, value] : usual.items())
    EXPECT_NE(value, unusual[name]) << name << " is not tried with another value";
  const TenantStart read = ParseTenantStart(Encode(Unusual()));
  EXPECT_EQ(Encode(read), Encode(Unusual()));
  EXPECT_EQ(read.spec.data_directory, Unusual().spec.data_directory);
  EXPECT_EQ(read.spec.max_delay, Unusual().spec.max_delay);
  EXPECT_EQ(read.spec.rates.lanes, 4);
  EXPECT_EQ(read.spec.pipeline.open.link, CreditLink::kEndToEnd);
  EXPECT_EQ(read.spec.pipeline.increment.wait, UnusualPipeline().increment.wait);
}

TEST(TenantStart, WhatNoHostWritesIsRefused) {
  const auto refused = [](const auto& change) {
    Json json = Json::parse(Encode(Unusual()));
    change(&json);
    try {
      ParseTenantStart(json.dump());
    } catch (const InputError& error) {
      EXPECT_EQ(error.details().key, "--start");
      return error.details().problem;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused([](Json*) {}), "nothing");
  EXPECT_EQ(refused([](Json* json) { json->erase("seed"); }), "has no \"seed\"");
  EXPECT_EQ(refused([](Json* json) { (*json)["speed"] = 1; }), "has an unknown \"speed\"");
  EXPECT_EQ(refused([](Json* json) { (*json)["batch"] = 1.5; }),
            "\"batch\": is no integer that fits");
  EXPECT_EQ(refused([](Json* json) { (*json)["batch"] = int64_t{1} << 40; }),
            "\"batch\": is no integer that fits");
  EXPECT_EQ(refused([](Json* json) { (*json)["seed"] = -1; }), "\"seed\": is no integer that fits");
  EXPECT_EQ(refused([](Json* json) { (*json)["mode"] = "serve"; }), "\"mode\": is unknown");
  EXPECT_EQ(refused([](Json* json) { (*json)["cores"] = ""; }), "has no core, or no thread");
  EXPECT_EQ(refused([](Json* json) { (*json)["capacity"] = 0; }), "has no core, or no thread");
  EXPECT_TRUE(refused([](Json* json) { (*json)["model"] = 3; }).starts_with("\"model\": "));
  EXPECT_TRUE(refused([](Json* json) { (*json)["serves"] = "yes"; }).starts_with("\"serves\": "));
  EXPECT_THROW(ParseTenantStart("{"), InputError);
  EXPECT_THROW(ParseTenantStart("[]"), InputError);
}

}  // namespace
}  // namespace cosched
