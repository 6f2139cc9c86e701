// `cosched calibrate` as a user meets it.

#include "tests/experiments/cli_fixture.h"
#include "workloads/profile.h"

namespace cosched {
namespace {

class CalibrateCliTest : public CliTest {};

TEST_F(CalibrateCliTest, PublishedTablesBecomeAProfileThatSaysWhereItComesFrom) {
  const std::string curves = "Cores,Intra,Time\n1,1,20\n1,2,22\n2,1,20\n2,2,12\n";
  WriteText(folder_.path() / "tables" / "times_oversubscription-2.csv", curves);
  WriteText(folder_.path() / "tables" / "times_contention.csv",
            "Cores_Per_C,Containers,Time\n1,1,300\n1,2,303\n");
  const Ended ended = Run({"calibrate", "--from-published", "tables", "--out", "p.json"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("one run a cell was published"), std::string::npos) << ended.out;
  const Profile profile = LoadProfile(folder_.path() / "p.json");
  EXPECT_NE(profile.source.find("--from-published tables --out p.json"), std::string::npos)
      << profile.source;
  EXPECT_EQ(profile.cores, 64);
}

TEST_F(CalibrateCliTest, BadInputIsOneMessageAndNoProfile) {
  ExpectRefused({"calibrate", "--from-published", "nowhere", "--out", "p.json"},
                {"nowhere/times_oversubscription-2.csv"});
  ExpectRefused({"calibrate", "--from-published", ".", "--out", "no/folder/p.json"},
                {"--out", "no/folder/p.json", "a folder that is there"});
  ExpectRefused({"calibrate", "--from-published", ".", "--out", "."}, {"--out", "can't be a file"});
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "p.json"));
}

}  // namespace
}  // namespace cosched
