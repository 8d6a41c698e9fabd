#include "core/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

namespace detol {
namespace {

TEST(ChildProcess, IsFreeOfTheJobOfItsParent) {
  for (const char* setting : {"OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=1", "PMI_SIZE=2", "PMI_FD=7",
                              "MPI_LOCALNRANKS=2", "HYDI_CONTROL_FD=9", "HYDRA_LOCAL_PMI=1"})
    EXPECT_TRUE(is_of_mpi_job(setting)) << setting;
  for (const char* setting : {"PATH=/bin", "SLURM_JOB_ID=7", "MPI_HOME=/usr", "X=OMPI_", ""})
    EXPECT_FALSE(is_of_mpi_job(setting)) << setting;
}

TEST(ChildProcess, IsWaitedForWhateverSignalsCome) {
  static int alarms = 0;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { ++alarms; };  // without SA_RESTART: waitpid() is interrupted
  ::sigaction(SIGUSR2, &action, &before);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent waits, or will: a signal before that changes nothing.
    for (int i = 0; i < 20; ++i) {
      ::kill(parent, SIGUSR2);
      ::usleep(1000);
    }
    ::_exit(7);
  }
  const int status = wait_for_end(child);
  ::sigaction(SIGUSR2, &before, nullptr);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_GT(alarms, 0);
}

}  // namespace
}  // namespace detol
