// The main() of tests whose ranks are processes: started without mpiexec, the program starts itself
// again as an MPI job of DETOL_TEST_RANKS ranks (default 2), and every rank runs every test.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/trainer/mpi_test.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/collectives/mpi_group.h"

namespace detol {
namespace {

std::unique_ptr<Group> joined;

// NOLINTBEGIN(concurrency-mt-unsafe): there is one thread.
int start_job(char** argv) {
  const char* ranks = std::getenv("DETOL_TEST_RANKS");
  MpiLaunch launch = mpi_launch(ranks == nullptr ? 2 : std::atoi(ranks));
  for (std::string& setting : launch.environment) putenv(setting.data());
  std::vector<char*> words = {launch.mpiexec.data()};
  for (std::string& word : launch.words) words.push_back(word.data());
  for (char** word = argv; *word != nullptr; ++word) words.push_back(*word);
  words.push_back(nullptr);
  execv(words[0], words.data());
  std::perror(words[0]);
  return 1;
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace

Group& ranks() {
  return *joined;
}

}  // namespace detol

int main(int argc, char** argv) {
  if (!detol::mpi_place()) {
    return detol::must_skip() ? detol::kSkipped : detol::start_job(argv);
  }
  testing::InitGoogleTest(&argc, argv);
  auto group = detol::join_mpi_group();
  if (!group) {
    std::fprintf(stderr, "%s\n", group.error().message.c_str());
    return 1;
  }
  detol::joined = std::move(*group);
  const int failures = RUN_ALL_TESTS();
  if (failures == 0) detol::leave_mpi();
  return failures;
}
