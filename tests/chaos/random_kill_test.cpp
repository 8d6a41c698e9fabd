// kill -9 at random instants of random victims, again and again during one search: it ends
// with the results of an undisturbed one.
//
// DETOL_CHAOS_KILLS says how many kills (10), DETOL_CHAOS_SEED which (1).

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/rng.h"
#include "tests/chaos/chaos.h"

namespace detol::testing_support {
namespace {

using namespace std::string_view_literals;

constexpr int kImages = 1500;     // an epoch shall last a while
constexpr int kMostWaitMs = 500;  // between two kills
constexpr int kCrashLoop = 8;     // the exit code after four masters in a row without progress
constexpr double kMostS = 60, kMostSPerKill = 3;  // of a whole test
constexpr double kLeavesS = 20;                   // a joined worker, once the search is over

struct Kind {
  std::string name;
  Search (*search)(int trials);
  int trials_per_kill;  // so many that the search is hardly ever over before the last kill
  Search (*undisturbed)(int trials) = search;
};

enum class Victim { kWorker, kLauncher, kProgram, kMaster, kReaper, kSupervisor, kEverything };
constexpr const char* kNames[] = {"worker", "launcher",   "program",   "master",
                                  "reaper", "supervisor", "everything"};
// What is in the words of such a process, or in its name, which is behind them.
constexpr std::string_view kRoles[] = {"__worker", "mpi", "\0sh\n"sv, "__master", "tree-reaper"};

bool is_detol(pid_t pid) {
  std::error_code gone;
  const auto file = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone);
  return file.filename() == std::filesystem::path(tested_program()).filename();
}

class RandomKills {
 public:
  RandomKills(Search search, int kills, std::uint64_t seed)
      : search_(std::move(search)), study_(search_.images), kills_(kills), rng_(seed) {
    if (search_.is_joined) std::filesystem::create_directory(study_.path() / "joined");
  }

  void run(const Search& undisturbed) {
    const Baseline baseline = run_undisturbed(undisturbed);
    limit_s_ = system_clock().now_s() + kMostS + kMostSPerKill * kills_;
    run_to_the_end();
    for (const auto& [victim, count] : killed_) std::cout << victim << " " << count << ", ";
    std::cout << "in " << runs_ << " runs; " << study_.steps() << " steps trained, "
              << baseline.steps << " undisturbed" << std::endl;
    EXPECT_TRUE(!joined_ || joined_->ends_within(kLeavesS)) << "a joined worker does not leave";
    joined_.reset();
    EXPECT_EQ(broken_promises(study_, baseline, said_, done_ * search_.steps_to_redo()),
              std::vector<std::string>{})
        << said_;
    EXPECT_GE(2 * done_, kills_) << "the search was over too soon";
  }

 private:
  // A trial whose program was killed has failed, and is run again by a resume.
  void run_to_the_end() {
    int code = run_with_kills(search_.words);
    for (int programs = 0; code != -1 && (code != 0 || programs < programs_killed_);) {
      EXPECT_TRUE(code == 0 || code == 128 + SIGKILL || code == kCrashLoop || code == 4)
          << code << "\n"
          << said_;
      programs = programs_killed_;
      code = run_with_kills(code == 4 ? search_.words : search_.resume);
    }
  }

  // Runs the program once, with kills until it ends, and returns its exit code; -1 if it hung.
  int run_with_kills(const std::vector<std::string>& words) {
    ++runs_;
    Program program(study_.path(), words, study_.variables());
    for (;;) {
      if (search_.is_joined) keep_joined();
      if (program.ends_within(static_cast<double>(rng_.below(kMostWaitMs)) / 1000)) break;
      if (done_ < kills_) kill_one(program);
      if (system_clock().now_s() < limit_s_) continue;
      program.kill_everything();
      ADD_FAILURE() << "it hung\n" << said_ << program.wait().err;
      return -1;
    }
    const Ran ran = program.wait();
    said_ += ran.err;
    return ran.code;
  }

  // Has a worker join, unless one is there.
  void keep_joined() {
    if (joined_ && joined_->ends_within(0)) joined_.reset();
    if (joined_) return;
    joined_.emplace(study_.path() / "joined",
                    std::vector<std::string>{"worker", "--join", "tiny", "-j", "1"},
                    study_.variables());
  }

  Victim choose() {
    const auto draw = rng_.below(10);
    if (draw < 4) return Victim::kWorker;  // in a group: any rank
    if (draw < 5 && search_.runs_programs) return Victim::kProgram;
    if (draw < 5)
      return search_.name.starts_with("group") || search_.is_joined ? Victim::kLauncher
                                                                    : Victim::kWorker;
    if (draw < 7) return Victim::kMaster;
    if (draw < 8) return Victim::kReaper;
    return draw < 9 ? Victim::kSupervisor : Victim::kEverything;
  }

  std::vector<pid_t> victims(const Program& program, Victim victim) const {
    if (joined_ && victim == Victim::kWorker) return joined_->children("__join");
    return program.children(kRoles[static_cast<int>(victim)]);
  }

  void kill_one(Program& program) {
    const Victim victim = choose();
    if (victim == Victim::kEverything) {
      for (const pid_t pid : study_.processes()) {
        if (is_detol(pid)) ::kill(pid, SIGKILL);
      }
      program.wait();
      joined_.reset();
      EXPECT_TRUE(is_alone(study_)) << "a process outlives everything that is detol";
    } else if (victim == Victim::kSupervisor) {
      program.signal(SIGKILL);
      program.wait();
    } else if (victim == Victim::kLauncher && joined_) {
      joined_->signal(SIGKILL);
    } else {
      const auto pids = victims(program, victim);
      if (pids.empty()) return;
      ::kill(pids[rng_.below(pids.size())], SIGKILL);
    }
    ++done_;
    if (victim == Victim::kProgram) ++programs_killed_;
    ++killed_[kNames[static_cast<int>(victim)]];
  }

  const Search search_;
  const ChaosStudy study_;
  const int kills_;
  Rng rng_;
  std::optional<Program> joined_;
  double limit_s_ = 0;
  std::string said_;
  std::map<std::string, int> killed_;
  int done_ = 0, runs_ = 0, programs_killed_ = 0;
};

const std::array kKinds = {
    Kind{"one_worker", one_worker, 2},      Kind{"pausing", pausing, 5},
    Kind{"two_workers", two_workers, 2},    Kind{"group_of_two", group_of_two, 2},
    Kind{"joined", joined, 2, two_workers}, Kind{"tune", tune, 3}};

class RandomKill : public testing::TestWithParam<std::string> {};

TEST_P(RandomKill, ChangesNothing) {
  const int kills = number_from("DETOL_CHAOS_KILLS", 10);
  const int seed = number_from("DETOL_CHAOS_SEED", 1);
  const Kind& kind = *std::ranges::find(kKinds, GetParam(), &Kind::name);
  Search search = kind.search(kind.trials_per_kill * kills);
  search.images = kImages;
  std::cout << search.name << ", seed " << seed << ": " << std::flush;
  Search undisturbed = kind.undisturbed(kind.trials_per_kill * kills);
  undisturbed.images = kImages;
  RandomKills(search, kills, static_cast<std::uint64_t>(seed)).run(undisturbed);
}

INSTANTIATE_TEST_SUITE_P(Search, RandomKill,
                         testing::Values("one_worker", "pausing", "two_workers", "group_of_two",
                                         "joined", "tune"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace detol::testing_support
