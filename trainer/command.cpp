#include "trainer/command.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "core/clock.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "encodings/study/written_parameters.h"
#include "trainer/programs/program.h"
#include "trainer/programs/report_lines.h"
#include "trainer/reports/epoch_ranking.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;
using End = Evaluation::End;

constexpr double kLookEveryS = 0.05;  // at the report and at requests to stop
constexpr std::size_t kMostLogged = std::size_t{16} << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr std::size_t kSearched = 4096;  // of a line: std::regex takes stack for each character
constexpr std::size_t kQuoted = 200;     // of the last line that a failed program printed

// Output: what the program prints, kept in a file, and searched for metrics.
class Output {
 public:
  Output(const fs::path& path, int attempt, const std::vector<PrintedMetric>& prints)
      : file_(path, std::ios::app) {
    if (attempt > 1) file_ << fmt::format("--- attempt {}\n", attempt);
    for (const PrintedMetric& one : prints)
      patterns_.push_back({one.metric, std::regex(one.pattern)});
  }

  // Reads what is there, at most a megabyte; appends the metrics to the report.
  Result<void> read(int descriptor, const fs::path& report) {
    char bytes[1 << 16];
    for (int i = 0; i < 16; ++i) {
      const ssize_t count = ::read(descriptor, bytes, sizeof bytes);
      if (count <= 0) break;
      const std::string_view text(bytes, static_cast<std::size_t>(count));
      log(text);
      for (const char c : text) DETOL_TRY(take(c, report));
    }
    file_.flush();
    return {};
  }

  // Returns ": <the last line>", shortened; empty if nothing was printed.
  std::string last_words() const {
    const std::string& line = line_.empty() ? last_line_ : line_;
    return line.empty() ? "" : ": " + line.substr(0, kQuoted);
  }

 private:
  using Pattern = std::pair<std::string, std::regex>;  // a metric, and what finds it

  void log(std::string_view text) {
    const std::size_t room = kMostLogged - std::min(kMostLogged, logged_);
    file_ << text.substr(0, room);
    if (logged_ < kMostLogged && logged_ + text.size() >= kMostLogged)
      file_ << "\n--- what follows is not kept\n";
    logged_ += text.size();
  }

  Result<void> take(char c, const fs::path& report) {
    if (c != '\n' && c != '\r') {
      if (line_.size() < kLongestLine) line_ += c;
      return {};
    }
    nlohmann::ordered_json found = nlohmann::ordered_json::object();
    const std::string searched = line_.substr(0, kSearched);
    for (const auto& [metric, expression] : patterns_) {
      std::smatch match;
      if (!std::regex_search(searched, match, expression)) continue;
      char* end = nullptr;
      const std::string text = match[1];
      const double number = std::strtod(text.c_str(), &end);
      if (end == text.c_str()) continue;
      found[metric] = std::isfinite(number) ? nlohmann::ordered_json(number) : "NaN";
    }
    if (line_.find_first_not_of(' ') != std::string::npos) last_line_ = line_;
    line_.clear();
    return found.empty() ? Result<void>() : append_line(report, compact(found));
  }

  std::ofstream file_;
  std::vector<Pattern> patterns_;
  std::size_t logged_ = 0;
  std::string line_, last_line_;
};

// For jobs of Open MPI: of this user whoever it is, on the cores that this process has.
const std::map<std::string, std::string> kLaunchEnvironment = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}};

Evaluation failure(Cause cause, std::string reason) {
  return {End::kFailed, cause, std::move(reason)};
}

// CommandRun: one attempt of a trial.
class CommandRun {
 public:
  CommandRun(const StudyConfig& config, int ranks, const std::optional<EpochRanking>& ranking,
             const NetworkWriter& write_network, const Job& job, const Reporter& report,
             Control& control)
      : config_(config),
        command_(*config.command),
        ranks_(ranks),
        ranking_(ranking),
        write_network_(write_network),
        job_(job),
        report_(report),
        control_(control),
        report_path_(job.folder / "report.jsonl") {}

  Result<Evaluation> run() {
    std::error_code error;
    fs::create_directories(job_.folder, error);
    if (error)
      return fail(ErrorCode::kStorage,
                  fmt::format("cannot make {}: {}", job_.folder.string(), error.message()));
    if (write_network_ && config_.has_networks()) {
      const Result<void> written = write_network_(config_, job_);
      if (!written && written.error().code == ErrorCode::kStorage)
        return tl::unexpected(written.error());
      if (!written) return failure(Cause::kInvalid, written.error().message);
    }
    std::vector<std::string> wanted;
    for (const std::string_view metric : reported_metrics(config_)) wanted.emplace_back(metric);
    DETOL_ASSIGN(auto lines, ReportLines::open(report_path_, wanted));
    if (auto end = tell(lines.read())) return *end;
    auto program = Program::start(start());
    if (!program) return failure(Cause::kInvalid, program.error().message);
    Output output(job_.folder / "output.log", job_.attempt, command_.prints);
    DETOL_ASSIGN(Evaluation end, supervise(*program, output, lines));
    program->end();
    for (const std::string& mistake : lines.mistakes())
      log_warning("trial {}: {}", job_.trial, mistake);
    return end;
  }

 private:
  ProgramStart start() const {
    const fs::path checkpoint = job_.folder / "checkpoint";
    const std::string steps = command_.steps > 0 ? std::to_string(command_.steps) : "";
    // Programs that seed NumPy take at most 32 bits.
    const std::string seed = std::to_string(job_.seed % (std::uint64_t{1} << 31));
    std::map<std::string, std::string, std::less<>> texts = {
        {"study", config_.study},
        {"seed", seed},
        {"trial.id", std::to_string(job_.trial)},
        {"trial.dir", job_.folder.string()},
        {"trial.checkpoint", checkpoint.string()},
        {"budget.epochs", steps},
        {"ranks", std::to_string(ranks_)}};
    for (const auto& [name, word] : written_parameters(config_, job_.genome)) texts[name] = word;
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    for (const auto& [name, value] : config_.parameters(job_.genome))
      std::visit([&](const auto& held) { parameters[name] = held; }, value);
    const std::map<std::string, std::string> networks = network_files();
    for (const auto& [name, path] : networks) texts[name] = path;
    std::vector<std::string> arguments = command_.run;
    std::error_code ignored;
    if (fs::exists(checkpoint, ignored))
      arguments.insert(arguments.end(), command_.resume.begin(), command_.resume.end());
    if (ranks_ > 1) {
      const auto words = command_.launch.value_or(launch_words());
      arguments.insert(arguments.begin(), words.begin(), words.end());
    }
    ProgramStart start{.arguments = filled_in(arguments, texts),
                       .environment = command_.environment,
                       .folder = command_.folder};
    start.environment.insert({{"DETOL_STUDY", config_.study},
                              {"DETOL_TRIAL", std::to_string(job_.trial)},
                              {"DETOL_TRIAL_DIR", job_.folder.string()},
                              {"DETOL_PARAMS", compact(parameters)},
                              {"DETOL_SEED", seed},
                              {"DETOL_BUDGET_EPOCHS", steps},
                              {"DETOL_REPORT", report_path_.string()},
                              {"DETOL_CHECKPOINT", checkpoint.string()},
                              {"DETOL_RANKS", std::to_string(ranks_)},
                              {"PYTHONUNBUFFERED", "1"}});
    if (ranks_ > 1) start.environment.insert(kLaunchEnvironment.begin(), kLaunchEnvironment.end());
    for (const auto& [name, path] : networks) {
      std::string variable = "DETOL_" + name;  // DETOL_NETWORK_JSON
      for (char& c : variable)
        c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      start.environment.insert({variable, path});
    }
    if (std::getenv("OMP_NUM_THREADS") == nullptr)  // NOLINT(concurrency-mt-unsafe)
      start.environment.insert({"OMP_NUM_THREADS", std::to_string(threads())});
    return start;
  }

  // Returns the paths of the files that say which network the trial has.
  std::map<std::string, std::string> network_files() const {
    std::map<std::string, std::string> paths;
    if (!config_.has_networks()) return paths;
    for (const std::string_view name : kNetworkFiles) {
      if (name != kOnnxFile || has_placeholder(command_, kOnnxFile))
        paths.emplace(name, (job_.folder / name).string());
    }
    return paths;
  }

  // Returns the cores of a rank: this process has those of its worker.
  int threads() const {
    cpu_set_t own;
    const bool is_known = ::sched_getaffinity(0, sizeof own, &own) == 0;
    return is_known && command_.binds_cores ? std::max(1, CPU_COUNT(&own) / ranks_) : 1;
  }

  // Returns the words that start a program of several ranks: in a Slurm job a step, inside of the
  // step of this worker where it is one.
  static std::vector<std::string> launch_words() {
    // NOLINTBEGIN(concurrency-mt-unsafe): nobody changes the environment.
    const char* node = std::getenv("SLURMD_NODENAME");
    const bool is_slurm = std::getenv("SLURM_JOB_ID") != nullptr && find_program("srun", "");
    if (!is_slurm) return {"mpiexec", "-n", "{ranks}"};
    if (std::getenv("SLURM_STEP_ID") == nullptr || node == nullptr)
      return {"srun", "--exact", "--kill-on-bad-exit=1", "--quiet", "-c1", "-n", "{ranks}"};
    return {"srun", "--overlap", "--kill-on-bad-exit=1", "--quiet", "-w", node, "-n", "{ranks}"};
    // NOLINTEND(concurrency-mt-unsafe)
  }

  Result<Evaluation> supervise(Program& program, Output& output, ReportLines& lines) {
    for (;;) {
      program.wait(kLookEveryS);
      control_.progress.fetch_add(1, std::memory_order_relaxed);
      const std::optional<Exit> exit = program.exit();
      DETOL_TRY(output.read(program.output(), report_path_));
      std::vector<StepReport> reports = lines.read();
      if (exit) std::ranges::move(lines.unended(), std::back_inserter(reports));
      if (auto end = tell(reports)) {
        DETOL_TRY(stop(program, output));
        return *end;
      }
      if (control_.suspend) {
        DETOL_TRY(stop(program, output));
        return Evaluation{.end = End::kSuspended, .reason = {}};
      }
      if (exit) return ended(*exit, output);
    }
  }

  // Gives the program its grace; end() then kills what is left.
  Result<void> stop(Program& program, Output& output) const {
    const auto row = std::ranges::find(stop_signals(), command_.stop_signal, &StopSignalRow::name);
    program.signal(row->number);
    const double end_s = system_clock().now_s() + command_.grace_s;
    while (!program.exit() && system_clock().now_s() < end_s) {
      program.wait(kLookEveryS);
      control_.progress.fetch_add(1, std::memory_order_relaxed);
      DETOL_TRY(output.read(program.output(), report_path_));
    }
    return {};
  }

  Evaluation ended(const Exit& exit, const Output& output) {
    if (exit.signal != 0)
      return failure(Cause::kCrashed,
                     fmt::format("the program was killed by signal {} ({}){}", exit.signal,
                                 ::strsignal(exit.signal), output.last_words()));
    if (std::ranges::find(command_.success, exit.code) == command_.success.end())
      return failure(Cause::kCrashed, fmt::format("the program ended with exit code {}{}",
                                                  exit.code, output.last_words()));
    if (last_) {
      if (auto end = send(*std::exchange(last_, std::nullopt), false)) return *end;
    }
    if (history_.empty()) return failure(Cause::kInvalid, "the program ended without " + missing());
    return {.end = End::kFinished, .reason = {}};
  }

  // Says what a report needs.
  std::string missing() const {
    std::string names;
    for (const std::string_view metric : reported_metrics(config_))
      names += fmt::format("{}\"{}\": ...", names.empty() ? "" : ", ", metric);
    const std::string report =
        fmt::format("a report: it must append a line {{{}}} to $DETOL_REPORT", names);
    return report + (command_.prints.empty()
                         ? ", or command.prints must find them in what it prints"
                         : "; command.prints found none in what it printed");
  }

  // Sends the reports that the master does not have; returns a value if the trial ends.
  std::optional<Evaluation> tell(const std::vector<StepReport>& reports) {
    const auto is_last = [&](const StepReport& one) {
      return command_.steps > 0 && one.step >= command_.steps;
    };
    const auto last = std::ranges::find_if(reports, is_last);
    if (!last_ && last != reports.end()) last_ = *last;
    for (auto one = reports.begin(); one != last; ++one) {
      const bool more = one + 1 != last && !divergence(*(one + 1));
      if (auto end = send(*one, more)) return end;
    }
    return std::nullopt;
  }

  std::optional<Evaluation> divergence(const StepReport& one) const {
    for (const auto& [name, value] : one.metrics) {
      if (!std::isfinite(value) && weighs(config_, name))
        return failure(Cause::kDiverged, fmt::format("{} is {} in step {}", name, value, one.step));
    }
    return std::nullopt;
  }

  std::optional<Evaluation> send(const StepReport& one, bool more) {
    if (auto end = divergence(one)) return end;
    EpochReport report{.epoch = std::min(one.step, job_.candidate.recipe.epochs), .metrics = {}};
    for (const auto& [name, value] : one.metrics) report.metrics.push_back({name, value});
    const double now_s = system_clock().now_s();
    report.train_s = now_s - std::exchange(since_s_, now_s);
    history_.push_back(report);
    if (ranking_) history_.back().is_best = is_best(*ranking_, history_);
    if (report.epoch <= job_.acknowledged) return std::nullopt;
    const Verdict verdict = report_(history_.back(), more);
    if (more) return std::nullopt;  // the verdict does not count
    if (verdict == Verdict::kSuspend) return Evaluation{.end = End::kSuspended, .reason = {}};
    if (verdict == Verdict::kStop) return Evaluation{.end = End::kFinished, .reason = {}};
    return std::nullopt;
  }

  const StudyConfig& config_;
  const CommandConfig& command_;
  const int ranks_;  // of the program
  const std::optional<EpochRanking>& ranking_;
  const NetworkWriter& write_network_;
  const Job& job_;
  const Reporter& report_;
  Control& control_;
  const fs::path report_path_;
  std::vector<EpochReport> history_;
  std::optional<StepReport> last_;  // of the last step, until the program has ended
  double since_s_ = system_clock().now_s();
};

class CommandEvaluator final : public Evaluator {
 public:
  CommandEvaluator(StudyConfig config, const TrainerOptions& options)
      : config_(std::move(config)),
        group_(*options.group),
        ranks_(std::max(options.program_ranks, group_.size())),
        write_network_(options.write_network),
        ranking_(epoch_ranking_of(config_)) {}

  // The leader runs the program; the other ranks wait for its outcome.
  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    Result<Evaluation> evaluation = Evaluation{.end = End::kFinished, .reason = {}};
    if (group_.rank() == 0)
      evaluation =
          CommandRun(config_, ranks_, ranking_, write_network_, job, report, control).run();
    const auto end = evaluation ? evaluation->end : End::kFailed;
    const std::string shared = group_.share(std::string(1, static_cast<char>(end)));
    if (group_.rank() != 0) evaluation->end = static_cast<End>(shared.front());
    return evaluation;
  }

 private:
  const StudyConfig config_;
  Group& group_;
  const int ranks_;
  const NetworkWriter write_network_;
  const std::optional<EpochRanking> ranking_;
};

}  // namespace

Result<DatasetInfo> inspect_command(const StudyConfig& config) {
  DETOL_TRY(find_program(config.command->run.front(), config.command->folder));
  return DatasetInfo{};
}

Result<std::unique_ptr<Evaluator>> make_command(const StudyConfig& config,
                                                const TrainerOptions& options) {
  return std::make_unique<CommandEvaluator>(config, options);
}

}  // namespace detol::inline trainer
