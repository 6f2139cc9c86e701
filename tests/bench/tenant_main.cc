// The main function of benchmarks whose binary is also their own tenants.

#include <benchmark/benchmark.h>

#include <string>

#include "tests/experiments/hosts/fake_tenant.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "tenant") {
    return cosched::testing::FakeTenant(argc, argv).Run();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
