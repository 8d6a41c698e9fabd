#pragma once

// in_child(): runs a part of a test in a child process: what trains in children of its own must not
// have run a network before.

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include <gtest/gtest.h>

namespace detol::testing_support {

// Returns how the child ended, for WIFEXITED and the like.
inline int status_of_child(const std::function<void()>& part) {
  const pid_t child = ::fork();
  if (child == 0) {
    part();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// The child's failures are the test's.
inline void in_child(const std::function<void()>& part) {
  EXPECT_EQ(status_of_child(part), 0) << "see above for what failed in the child";
}

}  // namespace detol::testing_support
