#pragma once

// Hosts that are network namespaces of this machine, on one link: each reaches the others over TCP
// alone. They share the file system, as the machines of a cluster do.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

class Hosts {
 public:
  // Makes two hosts. why_not() says why they could not be made; nothing else may be called then.
  Hosts();
  ~Hosts();  // kills what runs on them and removes them
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  const std::string& why_not() const { return why_not_; }

  static std::string address(int host);  // of host 0 or 1

  // Starts `detol <words>`, or another program, on a host.
  Program start(int host, const std::filesystem::path& folder,
                const std::vector<std::string>& words,
                const std::string& program = tested_program()) const;

  // Cuts the link of a host, and mends it.
  void cut(int host) const { set_link(host, "down"); }
  void mend(int host) const { set_link(host, "up"); }

  // Makes the link of a host slow and lossy, by delays or by a narrow rate; false if this machine
  // can do neither.
  bool slow(int host) const;

  // Returns whether a process with this word runs on a host.
  bool runs(int host, std::string_view word) const;

  // kill -9 of everything that runs on a host. Until it is mended, enter() fails as ssh does.
  void kill(int host) const;
  void revive(int host) const;

  // Returns a program that is called as ssh is, `PROGRAM ADDRESS WORD...`, and runs the words there
  // by a shell.
  std::string enter() const { return (place_.path() / "enter").string(); }

 private:
  std::vector<pid_t> processes(int host) const;
  static int ip(const std::vector<std::string>& words);
  std::string name(int host) const;
  void set_link(int host, const char* state) const;

  TempFolder place_;
  std::string why_not_;
};

}  // namespace detol::testing_support
