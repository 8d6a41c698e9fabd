// Searches on a real Slurm of one node: munged, slurmctld and slurmd, started by the test in a
// folder of its own, on the loopback device and with a key of its own.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kNaps = R"(version: 1
study: naps
function: {name: sleep, seconds: 1}
search: {algorithm: random}
budget: 120trials
)";

constexpr const char* kConfiguration = R"(ClusterName=detol
SlurmctldHost={0}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={1}/munge.socket
CredType=cred/munge
SlurmctldPort={2}
SlurmdPort={3}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=2
StateSaveLocation={1}/state
SlurmdSpoolDir={1}/spool
SlurmctldPidFile={1}/slurmctld.pid
SlurmdPidFile={1}/slurmd.pid
SlurmctldLogFile={1}/slurmctld.log
SlurmdLogFile={1}/slurmd.log
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
NodeName={0} NodeAddr=127.0.0.1 CPUs={4} State=UNKNOWN
PartitionName=main Nodes={0} Default=YES MaxTime=INFINITE State=UP
)";

std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  const std::string whole = name;
  return whole.substr(0, whole.find('.'));
}

// Runs a program of the system; `out` and `err` are empty.
int run_other(const fs::path& folder, const std::string& program, const Words& words) {
  const Environment other("DETOL_PROGRAM", program.c_str());
  return Program(folder, words).wait().code;
}

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd",
                                "/usr/bin/sbatch", "/usr/bin/scontrol"}) {
      if (::access(program, X_OK) != 0) GTEST_SKIP() << "there is no " << program;
    }
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start Slurm's daemons";
    write_bytes(place_.path() / "naps.yaml", kNaps);
    start_daemons();
  }
  void TearDown() override {
    for (const char* daemon : {"slurmctld", "slurmd", "munge"}) {
      std::ifstream file(cluster_.path() / (std::string(daemon) + ".pid"));
      pid_t pid = 0;
      if (!(file >> pid) || pid <= 1) continue;
      ::kill(pid, SIGTERM);
      waits_until([pid] { return ::kill(pid, 0) != 0; }, 20);
    }
  }

  void start_daemons() {
    const fs::path& folder = cluster_.path();
    fs::permissions(folder, fs::perms(0755));
    for (const char* name : {"state", "spool"}) fs::create_directory(folder / name);
    std::ifstream random("/dev/urandom", std::ios::binary);
    std::string key(1024, '\0');
    random.read(key.data(), static_cast<std::streamsize>(key.size()));
    write_bytes(folder / "munge.key", key);
    fs::permissions(folder / "munge.key", fs::perms(0600));
    const int port = 10000 + 2 * (::getpid() % 10000);
    write_bytes(folder / "slurm.conf",
                fmt::format(fmt::runtime(kConfiguration), host(), folder.string(), port, port + 1,
                            std::thread::hardware_concurrency()));
    const auto at = [&](const char* name) { return (folder / name).string(); };
    ASSERT_EQ(run_other(place_.path(), "/usr/sbin/munged",
                        {"--force", "--key-file=" + at("munge.key"),
                         "--socket=" + at("munge.socket"), "--pid-file=" + at("munge.pid"),
                         "--log-file=" + at("munge.log"), "--seed-file=" + at("munge.seed")}),
              0);
    conf_.emplace("SLURM_CONF", at("slurm.conf").c_str());
    ASSERT_EQ(run_other(place_.path(), "/usr/sbin/slurmctld", {"-c"}), 0);
    ASSERT_EQ(run_other(place_.path(), "/usr/sbin/slurmd", {"-c"}), 0);
    ASSERT_TRUE(waits_until(
        [&] {
          return slurm("sinfo", {"-h", "-o", "%T"}) == "idle\n";
        },
        30))
        << text_of(folder / "slurmctld.log");
  }

  static bool waits_until(const std::function<bool()>& holds, int limit_s) {
    constexpr int kLookMs = 100;
    for (int look = 0; look < limit_s * 1000 / kLookMs; ++look) {
      if (holds()) return true;
      ::poll(nullptr, 0, kLookMs);
    }
    return holds();
  }

  // Runs one of Slurm's programs and returns what it prints.
  std::string slurm(const std::string& program, const Words& words) const {
    const Environment other("DETOL_PROGRAM", ("/usr/bin/" + program).c_str());
    return Program(aside_.path(), words).wait().out;
  }
  Ran detol(const Words& words) const { return run(place_.path(), words); }

  // Ends a job by its time limit, which Slurm checks every 30 s.
  void set_limit_to_now(const std::string& job) const {
    char text[32];
    const std::time_t soon = std::time(nullptr) + 1;
    std::tm parts{};
    std::strftime(text, sizeof text, "%FT%T", ::localtime_r(&soon, &parts));
    slurm("scontrol", {"update", "JobId=" + job, std::string("EndTime=") + text});
  }
  std::string state_of(const std::string& job) const {
    const std::string shown = slurm("scontrol", {"-o", "show", "job", job});
    const std::size_t at = shown.find("JobState=") + 9;
    return shown.substr(at, shown.find(' ', at) - at);
  }
  // The job that waits for the end of the first, and has by now a successor of its own.
  std::string successor_of_the_first() const {
    const std::string running = slurm("squeue", {"-h", "-t", "RUNNING", "-o", "%i"});
    return running.substr(0, running.find('\n'));
  }

  // The tasks of steps that train themselves.
  int ranks() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string words = text_of(entry.path() / "cmdline");
      const bool is_task = words.find("srun") == std::string::npos &&
                           words.find(std::string("\0worker\0", 8)) != std::string::npos &&
                           words.find(place_.path().string()) != std::string::npos;
      const fs::path task = entry.path() / "task" / entry.path().filename();
      count += is_task && text_of(task / "children").empty();
    }
    return count;
  }

  Json query(const std::string& sql) const {
    return Json::parse(detol({"query", "-f", "json", sql}).out, nullptr, false);
  }
  int complete() const {
    const Json rows = query("SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'");
    return rows.is_array() ? rows[0]["n"].get<int>() : 0;
  }
  // The ends of what the jobs and Slurm wrote.
  std::string log() const {
    const auto end_of = [](const std::string& text) {
      constexpr std::size_t kMost = 3000;
      return text.substr(text.size() - std::min(kMost, text.size()));
    };
    return end_of(text_of(place_.path() / "detol.db.slurm-naps.log")) +
           end_of(text_of(cluster_.path() / "slurmctld.log")) +
           end_of(text_of(cluster_.path() / "slurmd.log"));
  }

  TempFolder place_, cluster_, aside_;
  std::optional<Environment> conf_;
};

// A search is more than its jobs: the first is killed by its time limit without having been warned,
// the next is stopped by a signal, and the node is drained and resumed before it runs again.
TEST_F(Slurm, AChainOfJobsSpendsTheBudgetOnceWhateverEndsThem) {
  const Ran submitted = detol({"slurm", "--space", "naps.yaml", "--time", "60", "-f", "json"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const std::string first = Json::parse(submitted.out)["job"];
  ASSERT_TRUE(waits_until([&] { return complete() >= 4; }, 60)) << log();

  set_limit_to_now(first);
  ASSERT_TRUE(waits_until([&] { return state_of(first) == "TIMEOUT"; }, 60)) << log();
  const int before = complete();
  ASSERT_TRUE(waits_until([&] { return complete() >= before + 4; }, 60)) << log();
  const std::string second = successor_of_the_first();

  slurm("scontrol", {"update", "NodeName=" + host(), "State=DRAIN", "Reason=test"});
  slurm("scancel", {"--signal=USR1", "--batch", second});
  ASSERT_TRUE(waits_until(
      [&] {
        return slurm("sinfo", {"-h", "-o", "%T"}) == "drained\n";
      },
      60))
      << log();
  EXPECT_EQ(query("SELECT state FROM v_studies")[0]["state"], "STOPPED");
  slurm("scontrol", {"update", "NodeName=" + host(), "State=RESUME"});
  slurm("scontrol", {"update", "JobId=" + second, "StartTime=now"});  // Slurm would wait 2 min

  ASSERT_TRUE(waits_until([&] { return slurm("squeue", {"-h"}).empty(); }, 120)) << log();
  EXPECT_EQ(query("SELECT state FROM v_studies")[0]["state"], "DONE") << log();
  EXPECT_EQ(complete(), 120);
  EXPECT_EQ(query("SELECT count(*) AS n FROM v_trials")[0]["n"], 120);
  EXPECT_EQ(query("SELECT count(*) AS n FROM v_metrics")[0]["n"], 120) << "each reported once";
  EXPECT_EQ(detol({"db", "check"}).code, 0);
}

// A group is a step of as many tasks; one that is ended from outside is started again.
TEST_F(Slurm, AGroupIsAStepThatIsReplacedWhenItDies) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "a group of two needs two CPUs";
  write_bytes(place_.path() / "job.sh", fmt::format("#!/bin/sh\ncd {}\nexec {} search --space "
                                                    "naps.yaml --budget 12trials --launcher slurm "
                                                    "--group-size 2 > search.log 2>&1\n",
                                                    place_.path().string(), tested_program()));
  std::string job = slurm("sbatch", {"--parsable", "--exclusive", "-o", "/dev/null",
                                     (place_.path() / "job.sh").string()});
  job.pop_back();
  const auto said = [&](const char* text) {
    return text_of(place_.path() / "search.log").find(text) != std::string::npos;
  };
  ASSERT_TRUE(waits_until([&] { return complete() >= 2; }, 60)) << log();
  EXPECT_EQ(ranks(), 2) << "each task is a rank, and starts no process";
  slurm("scancel", {"--signal=KILL", job + ".0"});
  EXPECT_TRUE(waits_until([&] { return said("requeued: "); }, 60)) << log();
  ASSERT_TRUE(waits_until([&] { return slurm("squeue", {"-h"}).empty(); }, 120)) << log();
  EXPECT_EQ(complete(), 12) << text_of(place_.path() / "search.log");
  const Json steps = query("SELECT DISTINCT worker FROM v_workers");
  EXPECT_EQ(steps.size(), 1U) << steps;
}

}  // namespace
}  // namespace detol::testing_support
