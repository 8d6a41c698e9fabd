#pragma once

// AskServer: `detol ask --serve` with pipes.

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"

namespace detol::testing_support {

class AskServer {
 public:
  // Starts it in `folder`; `variables` ("NAME=value") are added to its environment.
  AskServer(const std::filesystem::path& folder, const std::vector<std::string>& words,
            const std::vector<std::string>& variables = {}) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
      ADD_FAILURE() << "no pipe";
    std::vector<std::string> command = {"/usr/bin/env"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.insert(command.end(), {tested_program(), "ask"});
    command.insert(command.end(), words.begin(), words.end());
    command.emplace_back("--serve");
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0)
      ADD_FAILURE() << "cannot start " << arguments[0];
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = ::fdopen(in[1], "w");
    out_ = ::fdopen(out[0], "r");
  }
  ~AskServer() { end(); }
  AskServer(const AskServer&) = delete;
  AskServer& operator=(const AskServer&) = delete;

  pid_t pid() const { return pid_; }

  // Returns the answer to a line; nothing if the program has ended.
  std::optional<nlohmann::json> call(const nlohmann::json& line) {
    send(line);
    return answer();
  }

  void send(const nlohmann::json& line) {
    std::fputs((line.dump() + "\n").c_str(), in_);
    std::fflush(in_);
  }

  // Returns the answer to what was sent; nothing if the program has ended. One that does not come
  // in a minute is an error.
  std::optional<nlohmann::json> answer() {
    constexpr int kLimitMs = 60'000;
    pollfd fd{::fileno(out_), POLLIN, 0};
    if (::poll(&fd, 1, kLimitMs) == 0) {
      ADD_FAILURE() << "no answer";
      return std::nullopt;
    }
    char* text = nullptr;
    std::size_t size = 0;
    const ssize_t length = ::getline(&text, &size, out_);
    const std::string line(text != nullptr && length > 0 ? text : "");
    std::free(text);
    if (!line.ends_with('\n')) return std::nullopt;
    return nlohmann::json::parse(line);
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    end();
  }

  int end() {
    if (pid_ == 0) return code_;
    std::fclose(in_);
    std::fclose(out_);
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  pid_t pid_ = 0;
  int code_ = 0;
  std::FILE *in_ = nullptr, *out_ = nullptr;
};

}  // namespace detol::testing_support
