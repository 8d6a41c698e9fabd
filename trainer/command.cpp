#include "trainer/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "core/clock.h"
#include "core/log.h"
#include "core/table.h"
#include "trainer/command_start.h"
#include "trainer/programs/disk_room.h"
#include "trainer/programs/program.h"
#include "trainer/programs/program_output.h"
#include "trainer/programs/report_lines.h"
#include "trainer/reports/epoch_ranking.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;
using End = Evaluation::End;

constexpr const char* kOutputFile = "output.log";
constexpr double kLookEveryS = 0.05;  // at the report and at requests to stop
constexpr double kSettlesS = 2;       // a program that has reported may be about to end

Evaluation failure(Cause cause, std::string reason) {
  return {End::kFailed, cause, std::move(reason)};
}

std::vector<ProgramOutput::Pattern> patterns_of(const std::vector<PrintedMetric>& prints) {
  std::vector<ProgramOutput::Pattern> patterns;
  for (const PrintedMetric& one : prints) patterns.emplace_back(one.metric, one.pattern);
  return patterns;
}

// CommandRun: one attempt of a trial.
class CommandRun {
 public:
  CommandRun(const StudyConfig& config, ProgramShape shape,
             const std::optional<EpochRanking>& ranking, const NetworkWriter& write_network,
             const Job& job, const Reporter& report, Control& control)
      : config_(config),
        command_(*config.command),
        shape_(shape),
        ranking_(ranking),
        write_network_(write_network),
        job_(job),
        report_(report),
        control_(control),
        report_path_(job.folder / kReportFile) {}

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
    const bool has_kept = has_kept_something();
    if (!has_kept) DETOL_TRY(lines.begins_again());
    const std::size_t unnumbered = lines.unnumbered();
    const int reported = lines.reported();
    auto program = Program::start(program_start(config_, shape_, job_));
    if (!program) return failure(Cause::kInvalid, program.error().message);
    ProgramOutput output(job_.folder / kOutputFile, job_.attempt, patterns_of(command_.prints));
    DETOL_ASSIGN(Evaluation end, supervise(*program, output, lines));
    program->end();
    for (const std::string& mistake : lines.mistakes())
      log_warning("trial {}: {}", job_.trial, mistake);
    if (!output.mistake().empty()) log_warning("trial {}: {}", job_.trial, output.mistake());
    if (has_kept && unnumbered > 0 && lines.unnumbered() > unnumbered)
      log_warning(
          "trial {}: its reports name no step; those after its restart were counted on from step {}"
          ", which is right only if the program went on from there; report \"step\", too",
          job_.trial, reported);
    return end;
  }

 private:
  // Returns whether there is anything in the trial's folder from which its program may go on.
  bool has_kept_something() const {
    std::error_code error;
    for (auto each = fs::directory_iterator(job_.folder, error); each != fs::directory_iterator();
         each.increment(error)) {
      const fs::path name = each->path().filename();
      const bool is_ours = name == report_path_.filename() || name == kOutputFile ||
                           std::ranges::find(kNetworkFiles, name) != kNetworkFiles.end();
      if (!is_ours) return true;
    }
    return false;
  }

  Result<Evaluation> supervise(Program& program, ProgramOutput& output, ReportLines& lines) {
    for (;;) {
      program.wait(kLookEveryS);
      control_.progress.fetch_add(1, std::memory_order_relaxed);
      const std::optional<Exit> exit = program.exit();
      DETOL_TRY(output.read(program.output(), report_path_));
      if (exit) DETOL_TRY(output.end(report_path_));
      std::vector<StepReport> reports = lines.read();
      if (exit) std::ranges::move(lines.unended(), std::back_inserter(reports));
      auto end = tell(reports);
      if (!end && !exit) end = tell_what_waits();
      if (end) {
        DETOL_TRY(stop(program, output));
        return *end;
      }
      if (control_.suspend) {
        DETOL_TRY(stop(program, output));
        return Evaluation{.end = End::kSuspended, .reason = {}};
      }
      room_.look();
      if (exit) return unless_disk_was_full(ended(*exit, output, lines));
    }
  }

  // What a program reported while the disk was full is lost, without a word of most programs.
  // Errors (kStorage): it may have come to another end for that.
  Result<Evaluation> unless_disk_was_full(Evaluation end) {
    room_.look_now();
    if (!room_.was_lacking()) return end;
    const std::string what =
        fmt::format("there was no room in {} while the program ran{}{}", job_.folder.string(),
                    end.reason.empty() ? "" : ": ", end.reason);
    const bool is_short =
        command_.steps > 0 && (history_.empty() || history_.back().epoch < command_.steps);
    if (is_short || (end.end == End::kFailed && end.cause != Cause::kDiverged))
      return fail(ErrorCode::kStorage, what);
    log_warning("trial {}: {}; reports may be missing", job_.trial, what);
    return end;
  }

  // Gives the program its grace; end() then kills what is left.
  Result<void> stop(Program& program, ProgramOutput& output) const {
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

  Evaluation ended(const Exit& exit, const ProgramOutput& output, const ReportLines& lines) {
    const bool is_success = exit.signal == 0 && std::ranges::find(command_.success, exit.code) !=
                                                    command_.success.end();
    if (!is_success && last_ && command_.steps == 0) (void)send(*last_, true);
    if (exit.signal != 0)
      return failure(Cause::kCrashed,
                     fmt::format("the program was killed by signal {} ({}{}){}", exit.signal,
                                 // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
                                 ::strsignal(exit.signal),
                                 exit.signal == SIGKILL ? ", perhaps for lack of memory" : "",
                                 output.last_words()));
    if (!is_success)
      return failure(Cause::kCrashed, fmt::format("the program ended with exit code {}{}",
                                                  exit.code, output.last_words()));
    if (last_) {
      if (auto end = send(*std::exchange(last_, std::nullopt), false, true)) return *end;
    }
    if (history_.empty()) return failure(Cause::kInvalid, missing(output, lines));
    return {.end = End::kFinished, .reason = {}};
  }

  // Says why nothing that came is a report, and what one needs.
  std::string missing(const ProgramOutput& output, const ReportLines& lines) const {
    for (const std::string& why : {output.mistake(), lines.why_none()}) {
      if (!why.empty()) return "no report of the program can be used: " + why;
    }
    std::string names;
    for (const std::string_view metric : reported_metrics(config_))
      names += fmt::format("{}\"{}\": ...", names.empty() ? "" : ", ", metric);
    const std::string report = fmt::format(
        "the program ended without a report: it must append a line {{{}}} to $DETOL_REPORT", names);
    return report + (command_.prints.empty()
                         ? ", or command.prints must find them in what it prints"
                         : "; command.prints found none in what it printed");
  }

  // Sends the reports that the master does not have; returns a value if the trial ends. The last
  // one is held back: that of the last step until the program has ended; where a pruner does not
  // know which step that is, the newest, until another comes or the program seems to go on.
  std::optional<Evaluation> tell(std::vector<StepReport> reports) {
    if (reports.empty() || (last_ && command_.steps > 0)) return std::nullopt;
    if (last_) reports.insert(reports.begin(), *std::exchange(last_, std::nullopt));
    auto last = std::ranges::find_if(reports, [&](const StepReport& one) {
      return command_.steps > 0 && one.step >= command_.steps;
    });
    if (command_.steps == 0 && is_pruned_) --last;
    if (last != reports.end()) last_ = *last;
    last_since_s_ = system_clock().now_s();
    for (auto one = reports.begin(); one != last; ++one) {
      const bool more = one + 1 != last && !divergence(*(one + 1));
      if (auto end = send(*one, more)) return end;
    }
    return std::nullopt;
  }

  // Sends the newest report of a program that did not end with it.
  std::optional<Evaluation> tell_what_waits() {
    const bool is_over = control_.suspend || system_clock().now_s() - last_since_s_ >= kSettlesS;
    if (!last_ || command_.steps > 0 || !(is_over || divergence(*last_))) return std::nullopt;
    return send(*std::exchange(last_, std::nullopt), false);
  }

  std::optional<Evaluation> divergence(const StepReport& one) const {
    for (const auto& [name, value] : one.metrics) {
      if (!std::isfinite(value) && weighs(config_, name))
        return failure(Cause::kDiverged, fmt::format("{} is {} in step {}", name, value, one.step));
    }
    return std::nullopt;
  }

  std::optional<Evaluation> send(const StepReport& one, bool more, bool is_last = false) {
    if (auto end = divergence(one)) return end;
    EpochReport report{.epoch = std::min(one.step, job_.candidate.recipe.epochs), .metrics = {}};
    report.is_last = is_last;
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
  const ProgramShape shape_;
  const std::optional<EpochRanking>& ranking_;
  const NetworkWriter& write_network_;
  const Job& job_;
  const Reporter& report_;
  Control& control_;
  const fs::path report_path_;
  std::vector<EpochReport> history_;
  const bool is_pruned_ = config_.pruner.name != "none";
  std::optional<StepReport> last_;  // held back: see tell()
  double last_since_s_ = 0;
  double since_s_ = system_clock().now_s();
  DiskRoom room_{job_.folder};
};

class CommandEvaluator final : public Evaluator {
 public:
  CommandEvaluator(StudyConfig config, const TrainerOptions& options)
      : config_(std::move(config)),
        group_(*options.group),
        shape_{.ranks = std::max(options.program_ranks, group_.size()),
               .threads = options.program_threads},
        write_network_(options.write_network),
        ranking_(epoch_ranking_of(config_)) {}

  // The leader runs the program; the other ranks wait for its outcome.
  Result<Evaluation> evaluate(const Job& job, const Reporter& report, Control& control) override {
    Result<Evaluation> evaluation = Evaluation{.end = End::kFinished, .reason = {}};
    if (group_.rank() == 0)
      evaluation =
          CommandRun(config_, shape_, ranking_, write_network_, job, report, control).run();
    const auto end = evaluation ? evaluation->end : End::kFailed;
    const std::string shared = group_.share(std::string(1, static_cast<char>(end)));
    if (group_.rank() != 0) evaluation->end = static_cast<End>(shared.front());
    return evaluation;
  }

 private:
  const StudyConfig config_;
  Group& group_;
  const ProgramShape shape_;
  const NetworkWriter write_network_;
  const std::optional<EpochRanking> ranking_;
};

}  // namespace

Result<DatasetInfo> inspect_command(const StudyConfig& config) {
  DETOL_TRY(runnable_program(config.command->run.front(), config.command->folder));
  return DatasetInfo{};
}

Result<std::unique_ptr<Evaluator>> make_command(const StudyConfig& config,
                                                const TrainerOptions& options) {
  return std::make_unique<CommandEvaluator>(config, options);
}

}  // namespace detol::inline trainer
