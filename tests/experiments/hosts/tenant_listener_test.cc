#include "experiments/hosts/tenant_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

// Where sockets are is for the environment to say, and a host fails a job that can't be reached.
TEST(TenantListenerTest, APathThatIsTooLongIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ListenForTenant(folder.path() / "host"));
  const std::string name(200, 'x');
  try {
    ListenForTenant(folder.path() / name);
    FAIL() << "listened at a path that is cut";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(name));
  }
}

}  // namespace
}  // namespace cosched
