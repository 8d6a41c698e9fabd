#pragma once

#include <cstdlib>
#include <string>

namespace detol::testing_support {

// Sets a variable for the programs that are started while it exists.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

}  // namespace detol::testing_support
