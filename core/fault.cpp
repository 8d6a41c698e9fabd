#include "core/fault.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/table.h"

namespace detol::inline core {
namespace {

constexpr std::string_view kDeath = "kill exit";
constexpr std::string_view kProcess = "kill exit hang";
constexpr std::string_view kCode = "kill exit hang throw";
constexpr std::string_view kMessage = "kill exit hang corrupt";
constexpr std::string_view kFile = "kill exit hang enospc eio";

constexpr std::array kSites = {
    FaultSite{"file.write", "a file that must be whole or absent is written", kFile},
    FaultSite{"file.rename", "the finished file takes its name", kFile},
    FaultSite{"checkpoint.write", "a checkpoint is written", "kill exit hang enospc eio corrupt"},
    FaultSite{"train.step", "a training step was made", "kill exit hang throw nan"},
    FaultSite{"train.epoch", "an epoch is validated, its checkpoint not yet written", kProcess},
    FaultSite{"train.report", "a checkpoint is durable, its epoch not yet reported", kProcess},
    FaultSite{"ledger.append", "a transaction has begun; eio: a write fails", kFile},
    FaultSite{"ledger.commit", "COMMIT is about to be said; eio: an fsync fails", kFile},
    FaultSite{"ledger.committed", "it is durable, and nobody knows yet", kProcess},
    FaultSite{"master.start", "a master begins", kCode},
    FaultSite{"master.settle", "resolved.json is about to be written", kCode},
    FaultSite{"master.study", "the study is about to be opened or created", kCode},
    FaultSite{"master.refit", "a model of the search was fitted; nothing knows of it yet", kCode},
    FaultSite{"master.answer", "answers and orders are about to leave", kCode},
    FaultSite{"master.answered", "they have left; nobody at the screen knows", kCode},
    FaultSite{"message.send", "a message leaves a process", kMessage},
    FaultSite{"message.receive", "a message has come", kMessage},
    FaultSite{"supervisor.master", "a master is about to be started", kDeath},
    FaultSite{"supervisor.worker", "a worker is about to be started", kDeath},
    FaultSite{"worker.ready", "a worker has its data and says so", kCode},
    FaultSite{"worker.order", "a worker has a trial to train", kCode},
    FaultSite{"worker.choice", "algorithms were timed whose choice is not recorded yet", kCode},
    FaultSite{"worker.report", "an epoch's checkpoint is durable, its report unsent", kCode},
    FaultSite{"worker.end", "a trial's end is unsent", kCode},
    FaultSite{"backup.write", "a copy of the knowledge base is written", kProcess},
    FaultSite{"schema.migrate", "an older knowledge base is migrated, not yet committed", kProcess},
    FaultSite{"restore.aside", "the knowledge base is about to leave its place, or its log",
              kProcess},
    FaultSite{"recover.log", "the damaged log of a knowledge base is kept, and cut", kProcess},
    FaultSite{"study.change", "a whole study is renamed, copied or deleted: the note is there",
              kProcess},
    FaultSite{"study.folder", "the database has changed, the folder follows", kProcess},
};

struct ActionRow {
  std::string_view name;
  Fault fault;
};
constexpr std::array kActions = {
    ActionRow{"kill", Fault::kNone},   ActionRow{"exit", Fault::kNone},
    ActionRow{"hang", Fault::kNone},   ActionRow{"enospc", Fault::kNoSpace},
    ActionRow{"eio", Fault::kIoError}, ActionRow{"throw", Fault::kThrow},
    ActionRow{"nan", Fault::kNan},     ActionRow{"corrupt", Fault::kCorrupt},
};

struct Setting {
  std::string site;
  std::int64_t nth = 0;
  const ActionRow* action = nullptr;  // nullptr: no visit is disturbed
  int trace = -1;                     // descriptor of DETOL_FAULT_TRACE; -1: none
};

const char* variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets it
  return text == nullptr ? "" : text;
}

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kUsage, fmt::format("DETOL_FAULT={}: {}", text, why));
}

// Returns whether a space-separated list has the word.
bool has_word(std::string_view list, std::string_view word) {
  return fmt::format(" {} ", list).find(fmt::format(" {} ", word)) != std::string::npos;
}

Result<Setting> parse(std::string_view text) {
  Setting setting;
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos || first == last)
    return bad(text, "write site:nth:action, for example checkpoint.write:3:kill");
  setting.site = text.substr(0, first);
  const std::string_view nth = text.substr(first + 1, last - first - 1);
  const auto [end, error] = std::from_chars(nth.data(), nth.data() + nth.size(), setting.nth);
  if (error != std::errc{} || end != nth.data() + nth.size() || setting.nth < 1)
    return bad(text, "the visit must be a whole number from 1");
  const FaultSite* site = find_row(fault_sites(), setting.site);
  if (site == nullptr)
    return bad(text, unknown_name("site", setting.site, names_of(fault_sites())));
  setting.action = find_row(std::span<const ActionRow>(kActions), text.substr(last + 1));
  if (setting.action == nullptr || !has_word(site->actions, setting.action->name))
    return bad(text, fmt::format("{} takes the actions {}", site->name, site->actions));
  return setting;
}

Result<double> parse_patience(std::string_view text) {
  if (text.empty()) return 1.0;
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (is_number && scale > 0 && scale <= 1) return scale;
  return fail(ErrorCode::kUsage,
              fmt::format("DETOL_TEST_PATIENCE={}: write a number above 0 and at most 1, for "
                          "example 0.05",
                          text));
}

const Setting& setting() {
  static const Setting kSetting = [] {
    Setting setting = parse(variable("DETOL_FAULT")).value_or(Setting{});
    if (const std::string path = variable("DETOL_FAULT_TRACE"); !path.empty())
      setting.trace = ::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    return setting;
  }();
  return kSetting;
}

// Appends a line to the trace by one write, so that lines of several processes do not mix.
void write_line(int fd, const std::string& line) {
  [[maybe_unused]] const auto written = ::write(fd, line.data(), line.size());
}

// Returns true for the first caller of all processes that share the mark; without a mark, always.
bool claim_mark() {
  const std::string path = variable("DETOL_FAULT_MARK");
  if (path.empty()) return true;
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  write_line(fd, fmt::format("{}\n", ::getpid()));
  ::close(fd);
  return true;
}

Fault act(const ActionRow& action) {
  if (action.name == "kill") ::kill(::getpid(), SIGKILL);
  if (action.name == "exit") ::_exit(1);
  while (action.name == "hang") ::pause();
  return action.fault;
}

}  // namespace

std::span<const FaultSite> fault_sites() {
  return kSites;
}

Fault fault(std::string_view site) {
  const Setting& wanted = setting();
  if (wanted.action == nullptr && wanted.trace < 0) return Fault::kNone;
  if (wanted.trace >= 0) write_line(wanted.trace, fmt::format("{} {}\n", ::getpid(), site));
  if (wanted.action == nullptr || wanted.site != site) return Fault::kNone;
  static std::atomic<std::int64_t> visits{0};
  if (++visits != wanted.nth || !claim_mark()) return Fault::kNone;
  return act(*wanted.action);
}

void fault_or_throw(std::string_view site) {
  if (fault(site) == Fault::kThrow) throw std::runtime_error(fmt::format("fault at {}", site));
}

int errno_of(Fault fault) {
  if (fault == Fault::kNoSpace) return ENOSPC;
  return fault == Fault::kIoError ? EIO : 0;
}

double patience(double limit_s) {
  return limit_s * parse_patience(variable("DETOL_TEST_PATIENCE")).value_or(1.0);
}

Result<void> check_fault_setting() {
  DETOL_TRY(parse_patience(variable("DETOL_TEST_PATIENCE")));
  const std::string_view text = variable("DETOL_FAULT");
  if (text.empty()) return {};
  DETOL_TRY(parse(text));
  return {};
}

}  // namespace detol::inline core
