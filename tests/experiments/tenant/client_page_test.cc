// The page between a tenant and its program: each of the three clients speaks it, and whatever is
// written there is read with care.

#include "experiments/tenant/client_page.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

#include "experiments/client/cosched_client.h"
#include "experiments/client/cosched_page.h"
#include "experiments/os/find_program.h"
#include "tests/paths.h"

// NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs.
namespace cosched {
namespace {

// In a child that has the page in its environment. Its exit code.
int InProgram(const ClientPage& page, const std::function<int()>& program) {
  const std::string variable = page.Variable();
  const pid_t child = fork();
  if (child == 0) {
    setenv(COSCHED_PAGE_VARIABLE, variable.substr(variable.find('=') + 1).c_str(), 1);
    _exit(program());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What each client is to do: follow 2, do a step of 3, see nothing new, do one of none, and be told 1.
void ExpectFollowed(ClientPage* page, uint64_t grant) {
  const ClientPage::Said said = page->Read();
  EXPECT_TRUE(said.follows);
  EXPECT_EQ(said.followed, grant);
  EXPECT_EQ(said.threads, 2);
  EXPECT_EQ(said.steps, 2);
  EXPECT_EQ(said.images, 3);
  EXPECT_GT(said.at.count(), 0);
  EXPECT_GT(said.stepped_at,
            said.at);  // The second step, after it has followed; both in CLOCK_MONOTONIC.
}

TEST(ClientPageTest, TheLibraryInC) {
  ClientPage page;
  const uint64_t grant = page.Grant(2, {0, 1});
  EXPECT_FALSE(page.Read().follows);
  const int told = InProgram(page, [&page] {
    cosched_client* const client = cosched_connect();
    const int first = cosched_poll(client);
    cosched_step(client, 3);
    const int second = cosched_poll(client);
    cosched_step(client, 0);
    page.Grant(1, {0});  // The child's copy of the tenant's side, of the same page.
    return first * 100 + second * 10 + cosched_poll(client);
  });
  EXPECT_EQ(told, 201);
  ExpectFollowed(&page, grant);
}

// By the path, as the descriptor is closed when the program is executed.
void ExpectSpeaks(const char* interpreter, const char* option, const std::string& program) {
  ClientPage page;
  const uint64_t grant = page.Grant(2, {0, 1});
  EXPECT_EQ(InProgram(page,
                      [&] {
                        execlp(interpreter, interpreter, option, program.c_str(), nullptr);
                        return 127;
                      }),
            20);
  ExpectFollowed(&page, grant);
}

TEST(ClientPageTest, TheModuleInPython) {
  ExpectSpeaks("/usr/bin/python3", "-c",
               "import sys; sys.path.insert(0, '" + InSource("experiments/client") +
                   "'); import cosched\n" +
                   "client = cosched.connect(); first = client.poll(); client.step(3)\n"
                   "second = client.poll(); client.step()\n"
                   "sys.exit(first * 10 + second)");
}

TEST(ClientPageTest, TheModuleInJavaScript) {
  if (FindProgram("node").empty()) GTEST_SKIP() << "there is no node";
  ExpectSpeaks("node", "-e",
               "const client = require('" + InSource("experiments/client/cosched.js") +
                   "').connect();\n" +
                   "const first = client.poll(); client.step(3);\n"
                   "const second = client.poll(); client.step();\n"
                   "process.exit(first * 10 + second)");
}

TEST(ClientPageTest, WithoutATenantNothingHappens) {
  unsetenv(COSCHED_PAGE_VARIABLE);
  cosched_client* const client = cosched_connect();
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(cosched_poll(client), 0);
  EXPECT_EQ(cosched_threads(client), 0);
  cosched_step(client, 1);
  cosched_close(client);
}

TEST(ClientPageTest, WhatIsNoPageIsNone) {
  for (const char* variable : {"", "7", "x:/dev/null", "99:/nowhere", "0:/dev/null", "-1:"}) {
    setenv(COSCHED_PAGE_VARIABLE, variable, 1);
    EXPECT_EQ(cosched_connect(), nullptr) << variable;
  }
  unsetenv(COSCHED_PAGE_VARIABLE);
}

TEST(ClientPageTest, OneProcessIsTheClient) {
  ClientPage page;
  page.Grant(2, {0, 1});
  EXPECT_EQ(InProgram(page,
                      [] {
                        cosched_client* const client = cosched_connect();
                        const pid_t child = fork();
                        if (child == 0) {
                          cosched_step(client, 1);  // Inherited, but not its own.
                          _exit(cosched_connect() == nullptr ? 0 : 1);
                        }
                        int status = 1;
                        waitpid(child, &status, 0);
                        cosched_step(client, 1);
                        return WEXITSTATUS(status);
                      }),
            0);
  EXPECT_EQ(page.Read().steps, 1);
  // That one is gone, so another one takes over.
  EXPECT_EQ(InProgram(page, [] { return cosched_connect() == nullptr ? 1 : 0; }), 0);
}

TEST(ClientPageTest, NonsenseIsReadWithCare) {
  ClientPage page;
  const uint64_t grant = page.Grant(2, {0, 1});
  void* const memory =
      mmap(nullptr, COSCHED_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, page.fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const said = static_cast<cosched_page*>(memory);
  said->followed = grant + 2;  // Was never granted.
  said->threads_now = std::numeric_limits<uint32_t>::max();
  said->steps = std::numeric_limits<uint64_t>::max();
  said->images = 5;
  ClientPage::Said read = page.Read();
  EXPECT_EQ(read.followed, 0U);
  EXPECT_LE(read.threads, 1 << 20);
  EXPECT_GT(read.steps, 0);
  EXPECT_EQ(read.images, 5);
  said->images = 4;  // Never less.
  EXPECT_EQ(page.Read().images, 5);
  EXPECT_NE(ftruncate(page.fd(), 0), 0) << "a program can't take the page away from its tenant";
  munmap(memory, COSCHED_PAGE_SIZE);
}

}  // namespace
}  // namespace cosched
// NOLINTEND(concurrency-mt-unsafe)
