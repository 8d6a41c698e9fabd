#include "tests/scheduler/process_support.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/file.h"
#include "knowledge/query.h"
#include "tests/search/fake_model.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSpace = R"(version: 1
study: formula
seed: 42
data: {format: idx, path: /nowhere}
architecture:
  type: chain
  stem: {op: conv_bn_relu, channels: 8}
  stages: [{depth: 1, block: {op: conv}}]
  head: {op: global_avg_pool_linear}
parameters:
  lr: {type: float, low: 0.0001, high: 0.1, log: true}
training: {epochs: 5}
objectives: [{metric: val_loss, direction: minimize}]
search: {algorithm: evolution, pruner: {name: none}}
)";

long env_number(const char* name, long fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atol(text);
}

// A file of /proc/<pid>, empty if the process is gone.
std::string text_of(pid_t pid, const char* file) {
  std::ifstream stream(fs::path("/proc") / std::to_string(pid) / file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void pause_ms(long ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// Formula computes its losses; its checkpoint holds the number of epochs trained. The leader of a
// group writes and reports; the other ranks follow what it shares.
class Formula final : public Evaluator {
 public:
  explicit Formula(Group& group) : group_(group) {}

  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    fs::create_directories(job.folder);
    const fs::path checkpoint = job.folder / "epochs.ckpt";
    int trained = 0;
    std::ifstream(checkpoint) >> trained;
    trained = shared(trained);
    for (int epoch = 1; epoch <= job.candidate.recipe.epochs; ++epoch) {
      if (epoch > trained) {
        pause_ms(env_number("DETOL_TEST_EPOCH_MS", 1));
        ++control.progress;
        if (epoch == 2 && env_number("DETOL_TEST_CRASH", -1) == static_cast<long>(job.trial))
          std::abort();
        if (shared(control.suspend ? 1 : 0) == 1) return suspended();
        if (leads()) DETOL_TRY(write_file_durably(checkpoint, std::to_string(epoch)));
      }
      if (epoch <= job.acknowledged) continue;
      const double loss = job.candidate.recipe.lr + static_cast<double>(job.seed % 97) / epoch;
      const EpochReport epoch_report{
          .epoch = epoch, .metrics = {{"val_loss", loss}}, .work = 10.0 * epoch, .train_s = 0.01};
      const Verdict own = leads() ? report(epoch_report, false) : Verdict::kContinue;
      const auto verdict = static_cast<Verdict>(shared(static_cast<int>(own)));
      if (verdict == Verdict::kStop) break;
      if (verdict == Verdict::kSuspend) return suspended();
    }
    return Evaluation{Evaluation::End::kFinished, {}, {}};
  }

 private:
  static Evaluation suspended() { return {Evaluation::End::kSuspended, {}, {}}; }
  bool leads() const { return group_.rank() == 0; }
  int shared(int number) { return std::stoi(group_.share(std::to_string(number))); }

  Group& group_;
};

}  // namespace

TestHooks formula_hooks() {
  return {
      .inspect =
          [](const StudyConfig&) {
            return DatasetInfo{.task = {{1, 28, 28}, 10}, .fingerprint = 1};
          },
      .make_evaluator = [](const StudyConfig&,
                           const TrainerOptions& options) -> Result<std::unique_ptr<Evaluator>> {
        return std::make_unique<Formula>(*options.group);
      },
      .make_searcher = [](const StudyConfig& config,
                          SearcherInputs inputs) -> Result<std::unique_ptr<Searcher>> {
        const long fit_ms = env_number("DETOL_TEST_FIT_MS", -1);
        if (fit_ms < 0) return searcher_of(config, std::move(inputs));
        return std::make_unique<FakeModel>(config.space, config.seed, "fake_model",
                                           [fit_ms] { pause_ms(fit_ms); });
      }};
}

WholeRun::WholeRun(fs::path folder) : folder_(std::move(folder)) {
  auto config = load_study_config(kSpace, "test.yaml");
  if (!config)
    ADD_FAILURE() << config.error().message;
  else
    options.config = *config;
  options.storage = folder_ / "detol.db";
  options.budget = parse_budget_change("8trials").value();
  options.workers = 2;
  options.progress = ProgressMode::kNone;
  options.log.file = (folder_ / "log").string();
}

WholeRun::~WholeRun() {
  if (pid_ > 0 && !poll()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void WholeRun::start() {
  status_.reset();
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  ::signal(SIGHUP, ignores_hangups ? SIG_IGN : SIG_DFL);
  if (!set_up_log(options.log)) ::_exit(1);
  ::_exit(run_search(options));
}

std::optional<int> WholeRun::poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return status_;
}

int WholeRun::finish() {
  for (int round = 0; round < 2; ++round) {
    if (wait_until([&] { return poll().has_value(); })) return *status_;
  }
  return -1;
}

bool WholeRun::wait_until(const std::function<bool()>& holds) {
  const double limit_s = system_clock().now_s() + 30;
  while (!holds()) {
    if (system_clock().now_s() > limit_s) return false;
    pause_ms(2);
  }
  return true;
}

std::vector<pid_t> WholeRun::playing(const std::string& role) const {
  std::vector<pid_t> found;
  for (const pid_t pid : everybody()) {
    const std::string words = text_of(pid, "cmdline");
    if (words.find(role) != std::string::npos && words.find("mpiexec") == std::string::npos)
      found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> WholeRun::ranks(int rank) const {
  std::vector<pid_t> found;
  for (const pid_t pid : workers()) {
    const std::string environment = text_of(pid, "environ");
    for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
      const std::string setting = std::string(1, '\0') + name + std::to_string(rank) + '\0';
      if (environment.find(setting) != std::string::npos) found.push_back(pid);
    }
  }
  return found;
}

std::vector<pid_t> WholeRun::launchers() const {
  std::vector<pid_t> found;
  for (const pid_t pid : everybody()) {
    if (text_of(pid, "cmdline").find("mpiexec") != std::string::npos) found.push_back(pid);
  }
  return found;
}

// A process of this run has the run's folder in its environment.
std::vector<pid_t> WholeRun::everybody() const {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::atoi(name.c_str());
    if (pid == ::getpid() || pid == pid_) continue;
    if (text_of(pid, "environ").find(folder_.string()) != std::string::npos) all.push_back(pid);
  }
  return all;
}

fs::path WholeRun::socket() const {
  std::error_code none;
  const fs::path runs = folder_ / fmt::format("detol-{}", ::geteuid());
  for (const auto& entry : fs::directory_iterator(runs, none)) return entry.path() / "master.sock";
  return {};
}

std::vector<Event> WholeRun::events() const {
  if (!fs::exists(options.storage)) return {};
  const auto reader = Reader::open(options.storage);
  if (!reader) return {};
  const auto study = (*reader)->study(options.config.study);
  if (!study) return {};
  return (*reader)->events(study->id).value_or(std::vector<Event>{});
}

int WholeRun::reports() const {
  int count = 0;
  for (const Event& event : events()) count += std::holds_alternative<event::Reported>(event);
  return count;
}

std::string search_of(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    if (const auto* asked = std::get_if<event::Asked>(&event))
      text += fmt::format("asked {} {}\n", asked->trial, to_text(asked->params.front().second));
    if (const auto* told = std::get_if<event::Told>(&event))
      text += fmt::format("told {} {}\n", told->trial, to_text(told->state));
    if (const auto* refit = std::get_if<event::Refit>(&event))
      text += fmt::format("refit {} {}\n", refit->version, refit->parameters.front());
  }
  return text;
}

std::string outcomes_of(const std::vector<Event>& events) {
  std::map<TrialId, std::string> params, metrics, ends;
  for (const Event& event : events) {
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      for (const auto& [name, value] : asked->params)
        params[asked->trial] += fmt::format(" {}={}", name, to_text(value));
    } else if (const auto* reported = std::get_if<event::Reported>(&event)) {
      metrics[reported->trial] +=
          fmt::format(" {}:{}", reported->epoch, reported->metrics.front().second);
    } else if (const auto* told = std::get_if<event::Told>(&event)) {
      const auto cause = cause_of(told->outcome);
      ends[told->trial] = fmt::format("{} {}", to_text(told->state), cause ? to_text(*cause) : "");
    }
  }
  std::string text;
  for (const auto& [id, end] : ends)
    text += fmt::format("{}{}{} {}\n", id, params[id], metrics[id], end);
  return text;
}

}  // namespace detol::testing_support
